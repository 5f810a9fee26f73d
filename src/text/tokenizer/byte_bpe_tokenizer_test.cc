#include "text/tokenizer/byte_bpe_tokenizer.h"

#include <gtest/gtest.h>

#include <thread>

#include "text/tokenizer/test_vocab.h"

namespace toccata {
namespace {

using Ids = std::vector<TokenId>;
constexpr Tokenizer::EncodeOptions kPlain{.parse_special = false};

TestVocab small_vocab(std::string_view pre) {
  TestVocab v = TestVocab::byte_level(pre);
  v.join("h", "e");     // 256
  v.join("l", "l");     // 257
  v.join("he", "ll");   // 258
  v.join(" ", "hell");  // 259
  return v;
}

TEST(ByteBpe, MergesWithinWords) {
  const auto t = small_vocab("gpt-2").build();
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->encode("hello hello", {}), (Ids{258, 'o', 259, 'o'}));
  EXPECT_EQ(t->token_bytes(259), " hell");
  EXPECT_EQ(t->token_text(259), "\xC4\xA0hell");
  EXPECT_EQ(t->decode(Ids{258, 'o', 259}), "hello hell");
  EXPECT_TRUE(t->encode("", {}).empty());
}

TEST(ByteBpe, RoundTripsEveryByteString) {
  const auto t = small_vocab("llama-bpe").build();
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    const std::string text =
        random() % 2 == 0 ? random_bytes(random, random() % 80) : random_text(random, random() % 80);
    ASSERT_EQ(t->decode(t->encode(text, {})), text);
  }
}

TEST(ByteBpe, WordsSeenBeforeGiveTheSameTokens) {
  const auto t = small_vocab("gpt-2").build();
  std::string text;
  Ids expected;
  for (int i = 0; i < 3000; ++i) {
    const std::string word = " he" + std::string(static_cast<size_t>(i % 70), 'l') + "o";
    text += word;
    const Ids ids = t->encode(word, {});
    expected.insert(expected.end(), ids.begin(), ids.end());
  }
  EXPECT_EQ(t->encode(text, {}), expected);
}

TEST(ByteBpe, SpecialTokensMatchLongestFirst) {
  TestVocab v = small_vocab("gpt-2");
  const TokenId a = v.add("<|a|>", TokenType::kControl);
  const TokenId ab = v.add("<|a|><|b|>", TokenType::kControl);
  const TokenId tool = v.add("<tool>", TokenType::kUserDefined);
  v.add("<|unused|>", TokenType::kUnused);
  const auto t = v.build();
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->encode("<|a|><|b|>x<|a|><tool>", {}), (Ids{ab, 'x', a, tool}));
  EXPECT_EQ(t->encode("<|a|><|b|", {}), (Ids{a, '<', '|', 'b', '|'}));
  EXPECT_EQ(t->encode("<|a|><tool>", kPlain), (Ids{'<', '|', 'a', '|', '>', tool}));
  EXPECT_EQ(t->encode("<|unused|>", {}).size(), 10u);
  EXPECT_EQ(t->decode(Ids{ab, 'x', tool}), "<|a|><|b|>x<tool>");
  EXPECT_EQ(t->decode(Ids{ab, 'x', tool}, true), "x<tool>");
  EXPECT_EQ(t->decode(Ids{-1, 'x', 100000}), "x");
}

TEST(ByteBpe, AWordThatIsATokenIsNotMergedWhereTheModelSaysSo) {
  for (std::string_view pre : {"llama-bpe", "dbrx"}) {
    TestVocab v = TestVocab::byte_level(pre);
    v.join("a", "b");
    const TokenId abc = v.add("abc");  // no merge leads to it
    v.add("<x>", TokenType::kControl);
    v.data.add_bos = false;
    const auto t = v.build();
    EXPECT_EQ(t->encode("abc", {}), pre == "llama-bpe" ? Ids{abc} : (Ids{256, 'c'}));
    EXPECT_EQ(t->encode("<x>", kPlain), (Ids{'<', 'x', '>'}));
  }
}

TEST(ByteBpe, NormalisesWhereTheModelDoes) {
  const std::string decomposed = "e\xCC\x81", composed = "\xC3\xA9";
  EXPECT_EQ(small_vocab("qwen2").build()->encode(decomposed, {}), (Ids{0xC3, 0xA9}));
  EXPECT_EQ(small_vocab("gpt-2").build()->encode(decomposed, {}), (Ids{'e', 0xCC, 0x81}));
  // Invalid bytes stay, and the valid text around them is normalised.
  EXPECT_EQ(small_vocab("qwen2").build()->encode(decomposed + "\xFF" + decomposed, {}),
            (Ids{0xC3, 0xA9, 0xFF, 0xC3, 0xA9}));
  // U+07FD came with Unicode 11; to Hugging Face it is no mark, so U+0300 does not move past it.
  EXPECT_EQ(small_vocab("qwen2").build()->encode("\xCC\x80\xDF\xBD", {}), (Ids{0xCC, 0x80, 0xDF, 0xBD}));
  // Special tokens are found before.
  TestVocab v = small_vocab("qwen2");
  const TokenId special = v.add(decomposed, TokenType::kControl);
  EXPECT_EQ(v.build()->encode(decomposed + composed, {}), (Ids{special, 0xC3, 0xA9}));
}

TEST(ByteBpe, BytesThatTheVocabularyLacks) {
  TestVocab v;
  v.data.model = "gpt2";
  v.data.pre = "gpt-2";
  v.add("a");   // 0
  v.add("b");   // 1
  v.add("ab");  // 2
  v.merge("a b");
  for (std::string_view byte : {"\xEF", "\xBF", "\xBD"}) v.add(bytes_to_letters(byte));  // 3, 4, 5
  const auto t = v.build();
  EXPECT_EQ(t->encode("ab\x01"
                      "a",
                      {}),
            (Ids{2, 0}));                                // left out, as Hugging Face does
  EXPECT_EQ(t->encode("a\xFF", {}), (Ids{0, 3, 4, 5}));  // not UTF-8: U+FFFD
}

TEST(ByteBpe, AddsBosAndEosAsTheFileAsks) {
  TestVocab v = small_vocab("gpt-2");
  v.data.bos = v.add("<s>", TokenType::kControl);
  v.data.eos = v.add("</s>", TokenType::kControl);
  const Tokenizer::EncodeOptions add{.add_special = true};
  EXPECT_EQ(v.build()->encode("a", add), (Ids{'a'}));
  v.data.add_bos = v.data.add_eos = true;
  EXPECT_EQ(v.build()->encode("a", add), (Ids{*v.data.bos, 'a', *v.data.eos}));
  EXPECT_EQ(v.build()->encode("a", {}), (Ids{'a'}));
  EXPECT_TRUE(v.build()->add_bos());
  v.data.add_bos.reset();
  v.data.pre = "llama-bpe";  // whose models begin with BOS unless the file says otherwise
  EXPECT_TRUE(v.build()->add_bos());
}

TEST(ByteBpe, KnowsWhatEndsAnAnswer) {
  TestVocab v = small_vocab("gpt-2");
  const TokenId im_end = v.add("<|im_end|>", TokenType::kControl);
  const TokenId eos = v.add("<my_end>", TokenType::kControl);
  const TokenId other = v.add("<|im_start|>", TokenType::kControl);
  const TokenId text = v.add("</s>");  // not a control token: only text
  v.data.eos = eos;
  const auto t = v.build();
  EXPECT_TRUE(t->is_end(im_end));
  EXPECT_TRUE(t->is_end(eos));
  for (TokenId id : {other, text, TokenId{0}, TokenId{-1}, t->vocab_size()}) EXPECT_FALSE(t->is_end(id)) << id;
}

TEST(ByteBpe, HarmonyMessagesDoNotEndAnAnswer) {
  TestVocab v = small_vocab("gpt-4o");
  const TokenId end = v.add("<|end|>", TokenType::kControl);
  EXPECT_TRUE(v.build()->is_end(end));
  v.add("<|return|>", TokenType::kControl);
  const TokenId call = v.add("<|call|>", TokenType::kControl);
  EXPECT_FALSE(v.build()->is_end(end));
  EXPECT_TRUE(v.build()->is_end(call));
}

TEST(ByteBpe, TheFirstOfEqualTokensIsUsed) {
  TestVocab v = small_vocab("gpt-2");
  v.add("a");
  v.add("<x>", TokenType::kControl);
  v.add("<x>", TokenType::kControl);
  const auto t = v.build();
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->encode("a<x>", {}), (Ids{'a', 261}));
  EXPECT_EQ(t->decode(Ids{260, 262}), "a<x>");
}

TEST(ByteBpe, RefusesWhatDoesNotFit) {
  const auto refusal = [](auto&& change) {
    TestVocab v = small_vocab("gpt-2");
    change(v);
    return v.refusal();
  };
  EXPECT_EQ(refusal([](TestVocab&) {}), "");
  EXPECT_EQ(refusal([](TestVocab& v) { v.data.pre = "gpt\n17"; }),
            "tokenizer.ggml.pre = \"gpt\\x0a17\" is a pre-tokenizer that toccata does not know");
  EXPECT_NE(refusal([](TestVocab& v) { v.data.model = "bert"; }).find("tokenizer.ggml.model = \"bert\""),
            std::string::npos);
  EXPECT_EQ(refusal([](TestVocab& v) { v.data.types.pop_back(); }),
            "tokenizer.ggml.token_type has 259 entries but tokenizer.ggml.tokens has 260");
  EXPECT_EQ(refusal([](TestVocab& v) { v.data.eos = 260; }),
            "tokenizer.ggml.eos_token_id = 260 is not in the vocabulary of 260 tokens");
  EXPECT_EQ(refusal([](TestVocab& v) { v.data.bos = -1; }),
            "tokenizer.ggml.bos_token_id = -1 is not in the vocabulary of 260 tokens");
  EXPECT_EQ(refusal([](TestVocab& v) { v.data.add_bos = true; }),
            "tokenizer.ggml.add_bos_token is set but tokenizer.ggml.bos_token_id is missing");
  for (auto merge : {"ab", "a b c", "a ", " b", ""}) {
    EXPECT_EQ(refusal([&](TestVocab& v) { v.merge(merge); }),
              "tokenizer.ggml.merges[4] = \"" + std::string(merge) + "\" is not of the form \"left right\"");
  }
  EXPECT_EQ(refusal([](TestVocab& v) { v.merge("a zz"); }),
            "tokenizer.ggml.merges[4] = \"a zz\" joins a text that is not in tokenizer.ggml.tokens");
  EXPECT_EQ(refusal([](TestVocab& v) { v.merge("a b"); }),
            "tokenizer.ggml.merges[4] = \"a b\" makes a text that is not in tokenizer.ggml.tokens");
  EXPECT_EQ(refusal([](TestVocab& v) { v.add(std::string(1025, 'x'), TokenType::kControl); }),
            "tokenizer.ggml.tokens[260] is a special token of 1025 bytes, more than 1024");
  EXPECT_EQ(refusal([](TestVocab& v) { v.add("<0xZZ>", TokenType::kByte); }),
            "tokenizer.ggml.token_type[260] says byte but the token is not of the form <0xNN>");
  TestVocab none;
  none.data.model = "gpt2";
  EXPECT_EQ(none.refusal(), "tokenizer.ggml.tokens is empty");
}

TEST(ByteBpe, ServesManyThreads) {
  const auto t = small_vocab("qwen2").build();
  std::mt19937 random(4);
  const std::string text = random_text(random, 3000);
  const Ids expected = t->encode(text, {});
  std::vector<std::thread> threads;
  std::vector<int> same(4, 0);
  for (size_t i = 0; i < same.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 10; ++round) same[i] += t->encode(text, {}) == expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, std::vector<int>(4, 10));
}

}  // namespace
}  // namespace toccata
