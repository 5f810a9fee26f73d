#include "text/tokenizer/vocab_data.h"

#include <gtest/gtest.h>

#include "format/gguf/test_writer.h"

namespace toccata {
namespace {

using gguf::ValueType;

// The keys of a small SentencePiece vocabulary, each of which a test may write otherwise.
struct Keys {
  std::string model = "llama";
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>", "a"};
  std::vector<float> scores = {0, 0, 0, -1};
  std::vector<int32_t> types = {2, 3, 3, 1};

  gguf::Writer writer() const {
    gguf::Writer w;
    w.text("tokenizer.ggml.model", model);
    w.strings("tokenizer.ggml.tokens", tokens);
    w.array<float>("tokenizer.ggml.scores", ValueType::kFloat32, scores);
    w.array<int32_t>("tokenizer.ggml.token_type", ValueType::kInt32, types);
    return w;
  }
};

std::string refusal(const gguf::Writer& writer) {
  const gguf::TestFolder folder;
  const auto file = gguf::File::open(folder.write("vocab.gguf", writer.bytes()));
  EXPECT_TRUE(file) << file.error().message;
  const auto made = Tokenizer::from_gguf(**file);
  return made ? "" : made.error().message;
}

TEST(VocabData, ReadsEveryKey) {
  gguf::Writer w = Keys().writer();
  w.text("tokenizer.ggml.pre", "default").u32("tokenizer.ggml.bos_token_id", 1).i32("tokenizer.ggml.eos_token_id", 2);
  w.u32("tokenizer.ggml.eot_token_id", 3)
      .u32("tokenizer.ggml.eom_token_id", 3)
      .u32("tokenizer.ggml.unknown_token_id", 0);
  w.boolean("tokenizer.ggml.add_bos_token", true).boolean("tokenizer.ggml.add_eos_token", false);
  w.boolean("tokenizer.ggml.add_space_prefix", false).boolean("tokenizer.ggml.remove_extra_whitespaces", true);
  const gguf::TestFolder folder;
  const auto file = gguf::File::open(folder.write("vocab.gguf", w.bytes()));
  ASSERT_TRUE(file) << file.error().message;
  const auto data = VocabData::from_gguf(**file);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->model, "llama");
  EXPECT_EQ(data->pre, "default");
  EXPECT_EQ(data->tokens, (std::vector<std::string_view>{"<unk>", "<s>", "</s>", "a"}));
  EXPECT_EQ(data->scores, (std::vector<float>{0, 0, 0, -1}));
  EXPECT_EQ(data->types[1], TokenType::kControl);
  EXPECT_EQ(data->bos, 1);
  EXPECT_EQ(data->eos, 2);
  EXPECT_EQ(data->eot, 3);
  EXPECT_EQ(data->eom, 3);
  EXPECT_EQ(data->unknown, 0);
  EXPECT_EQ(data->add_bos, true);
  EXPECT_EQ(data->add_eos, false);
  EXPECT_EQ(data->add_space_prefix, false);
  EXPECT_TRUE(data->remove_extra_whitespaces);
  EXPECT_EQ(refusal(w), "");
}

TEST(VocabData, AbsentTypesAreNormal) {
  gguf::Writer w;
  w.text("tokenizer.ggml.model", "llama").strings("tokenizer.ggml.tokens", {"a", "b"});
  w.array<float>("tokenizer.ggml.scores", ValueType::kFloat32, {0, 0});
  const gguf::TestFolder folder;
  const auto file = gguf::File::open(folder.write("vocab.gguf", w.bytes()));
  ASSERT_TRUE(file) << file.error().message;
  const auto data = VocabData::from_gguf(**file);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->types, std::vector<TokenType>(2, TokenType::kNormal));
  EXPECT_FALSE(data->bos);
  EXPECT_FALSE(data->add_bos);
}

TEST(VocabData, NamesTheKeyThatIsWrong) {
  const auto mentions = [](const std::string& message, std::string_view key) {
    EXPECT_NE(message.find(key), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  };
  mentions(refusal(gguf::Writer().u32("general.x", 1)), "tokenizer.ggml.model");
  mentions(refusal(gguf::Writer().u32("tokenizer.ggml.model", 1)), "tokenizer.ggml.model");
  mentions(refusal(gguf::Writer().text("tokenizer.ggml.model", "llama")), "tokenizer.ggml.tokens");
  mentions(refusal(gguf::Writer().text("tokenizer.ggml.model", "gpt2").strings("tokenizer.ggml.tokens", {"a"})),
           "tokenizer.ggml.merges");
  mentions(refusal(gguf::Writer()
                       .text("tokenizer.ggml.model", "llama")
                       .array<int32_t>("tokenizer.ggml.tokens", ValueType::kInt32, {1, 2})),
           "tokenizer.ggml.tokens");
  Keys types;
  types.types = {2, 3, 3, 7};
  mentions(refusal(types.writer()), "tokenizer.ggml.token_type[3]");
  Keys count;
  count.types = {2, 3, 3};
  mentions(refusal(count.writer()), "tokenizer.ggml.token_type has 3");
  Keys scores;
  scores.scores = {1};
  mentions(refusal(scores.writer()), "tokenizer.ggml.scores has 1");
  mentions(refusal(Keys().writer().u32("tokenizer.ggml.bos_token_id", 4)), "tokenizer.ggml.bos_token_id = 4");
  mentions(refusal(Keys().writer().i32("tokenizer.ggml.bos_token_id", -1)), "tokenizer.ggml.bos_token_id = -1");
  mentions(refusal(Keys().writer().u32("tokenizer.ggml.eos_token_id", 0xFFFFFFFFu)), "tokenizer.ggml.eos_token_id");
  mentions(refusal(Keys().writer().text("tokenizer.ggml.add_bos_token", "yes")), "tokenizer.ggml.add_bos_token");
  mentions(refusal(Keys().writer().f32("tokenizer.ggml.eot_token_id", 1.5f)), "tokenizer.ggml.eot_token_id");
  Keys model;
  model.model = "bert";
  mentions(refusal(model.writer()), "\"bert\"");
}

}  // namespace
}  // namespace toccata
