#include <gtest/gtest.h>

#include "text/tokenizer/test_vocab.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/utf8_runs.h"

namespace toccata {
namespace {

TEST(StreamDecoder, HoldsBackWhatIsNotYetACharacter) {
  const auto t = TestVocab::byte_level().build();
  StreamDecoder stream(*t);
  EXPECT_EQ(stream.push(0xF0), "");
  EXPECT_EQ(stream.push(0x9F), "");
  EXPECT_EQ(stream.push(0x98), "");
  EXPECT_EQ(stream.push(0x80), "\xF0\x9F\x98\x80");
  EXPECT_EQ(stream.push('a'), "a");
  EXPECT_EQ(stream.push(0xE2), "");
  EXPECT_EQ(stream.push('b'),
            "\xEF\xBF\xBD"
            "b");  // it can no longer become one
  EXPECT_EQ(stream.push(0xE2), "");
  EXPECT_EQ(stream.push(0x82), "");
  EXPECT_EQ(stream.flush(), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.flush(), "");
}

TEST(StreamDecoder, GivesTheRepairedTextInWholeCharacters) {
  const auto t = TestVocab::byte_level().build();
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const std::string bytes =
        random() % 2 == 0 ? random_bytes(random, random() % 60) : random_text(random, random() % 60);
    StreamDecoder stream(*t);
    std::string out;
    for (char c : bytes) {
      const std::string piece = stream.push(static_cast<uint8_t>(c));
      ASSERT_TRUE(utf8::is_valid(piece));
      out += piece;
    }
    ASSERT_EQ(out + stream.flush(), to_valid_utf8(bytes));
  }
}

TEST(StreamDecoder, SkipsControlTokensOnRequest) {
  TestVocab v = TestVocab::byte_level();
  const TokenId end = v.add("<|im_end|>", TokenType::kControl), tool = v.add("<tool>", TokenType::kUserDefined);
  const auto t = v.build();
  StreamDecoder skipping(*t), showing(*t, false);
  EXPECT_EQ(skipping.push(end) + skipping.push(tool), "<tool>");
  EXPECT_EQ(showing.push(end) + showing.push(tool), "<|im_end|><tool>");
}

TEST(StreamDecoder, DropsTheSpacePrefixOnce) {
  TestVocab v = TestVocab::sentence_piece(true);
  const TokenId word = v.add("\xE2\x96\x81hi", TokenType::kNormal, -1);
  const auto t = v.build();
  for (bool skip : {true, false}) {
    StreamDecoder stream(*t, skip);
    std::string out;
    const std::vector<TokenId> ids = {1, word, word};
    for (TokenId id : ids) out += stream.push(id);
    EXPECT_EQ(out + stream.flush(), t->decode(ids, skip));
  }
}

TEST(Utf8Runs, FindsRunsAndRepairs) {
  EXPECT_EQ(valid_run_end("abc\xFF", 0), 3u);
  EXPECT_EQ(valid_run_end("0123456789\xC3\xA9\xC3", 0), 12u);
  EXPECT_EQ(invalid_run_end("\xFF\xC3(", 0), 2u);
  EXPECT_EQ(to_valid_utf8("\xE2\x82(\xF0\x9F\x98\xFF\xED\xA0\x80"),
            "\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(to_valid_utf8("h\xC3\xA9"), "h\xC3\xA9");
  EXPECT_TRUE(decode_utf8("\xF0\x9F", 0).cut);
  EXPECT_FALSE(decode_utf8("\xF0\x9F(", 0).cut);
  EXPECT_EQ(decode_utf8("\xF0\x9F(", 0).length, 2u);
}

}  // namespace
}  // namespace toccata
