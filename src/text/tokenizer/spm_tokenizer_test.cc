#include "text/tokenizer/spm_tokenizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "text/tokenizer/test_vocab.h"

namespace toccata {
namespace {

using Ids = std::vector<TokenId>;
constexpr Tokenizer::EncodeOptions kPlain{.parse_special = false};
constexpr TokenId kUnknown = 0;
constexpr TokenId byte(int b) { return 3 + b; }

#define MARK "\xE2\x96\x81"

// Pieces 259 and up: the letters a to e, the space, then the merges that are added.
struct Small : TestVocab {
  explicit Small(bool bytes = true, bool prefix = false) : TestVocab(sentence_piece(bytes)) {
    for (auto letter : {"a", "b", "c", "d", "e", MARK}) add(letter, TokenType::kNormal, -100);
    data.add_space_prefix = prefix;
    data.add_bos = false;
  }
  TokenId id(std::string_view text) const {
    for (size_t i = 0; i < data.tokens.size(); ++i) {
      if (data.tokens[i] == text) return static_cast<TokenId>(i);
    }
    return -1;
  }
};

TEST(Spm, MergesTheBestScoreFirst) {
  Small v;
  const TokenId ab = v.add("ab", TokenType::kNormal, -2), bc = v.add("bc", TokenType::kNormal, -1);
  const auto t = v.build();
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->encode("abc", {}), (Ids{v.id("a"), bc}));
  EXPECT_EQ(t->encode("ab", {}), (Ids{ab}));
}

TEST(Spm, EqualScoresMergeFromTheLeft) {
  Small v;
  const TokenId aa = v.add("aa");
  EXPECT_EQ(v.build()->encode("aaa", {}), (Ids{aa, v.id("a")}));
}

TEST(Spm, SpacesAndTheirMarkAreOne) {
  Small v;
  const TokenId word = v.add(MARK "a", TokenType::kNormal, -1);
  const auto t = v.build();
  EXPECT_EQ(t->encode("b a", {}), (Ids{v.id("b"), word}));
  EXPECT_EQ(t->encode("b" MARK "a", {}), (Ids{v.id("b"), word}));
  EXPECT_EQ(t->token_bytes(word), " a");
  EXPECT_EQ(t->token_text(word), MARK "a");
  EXPECT_EQ(t->decode(Ids{v.id("b"), word}), "b a");
}

TEST(Spm, UncoveredCharactersBecomeBytes) {
  Small v;
  const auto t = v.build();
  EXPECT_EQ(t->encode("a\xC3\xA9", {}), (Ids{v.id("a"), byte(0xC3), byte(0xA9)}));
  EXPECT_EQ(t->encode("\xFFz", {}), (Ids{byte(0xFF), byte('z')}));
  EXPECT_EQ(t->token_bytes(byte(0xFF)), "\xFF");
  EXPECT_EQ(t->token_type(byte(0)), TokenType::kByte);
  // The text of a byte token is text.
  EXPECT_EQ(t->encode("<0x41>", {}).size(), 6u);
}

TEST(Spm, WithoutBytesARunOfThemIsOneUnknown) {
  Small v(false);
  const TokenId user = v.add("<u>", TokenType::kUserDefined);
  const auto t = v.build();
  EXPECT_EQ(t->encode("axyzb x x", {}),
            (Ids{v.id("a"), kUnknown, v.id("b"), v.id(MARK), kUnknown, v.id(MARK), kUnknown}));
  EXPECT_EQ(t->encode("x<u>x", {}), (Ids{kUnknown, user, kUnknown}));
  EXPECT_EQ(t->encode("\xFF", {}), (Ids{kUnknown}));
  v.add("\xEF\xBF\xBD");
  EXPECT_EQ(v.build()->encode("\xFF", {}), (Ids{v.id("\xEF\xBF\xBD")}));
}

TEST(Spm, SpacePrefixComesAndGoes) {
  Small v(true, true);
  const TokenId word = v.add(MARK "a", TokenType::kNormal, -1);
  const auto t = v.build();
  EXPECT_EQ(t->encode("ab", {}), (Ids{word, v.id("b")}));
  EXPECT_EQ(t->encode(" a", {}), (Ids{v.id(MARK), word}));
  EXPECT_TRUE(t->encode("", {}).empty());
  EXPECT_EQ(t->decode(Ids{word, word}), "a a");
  EXPECT_EQ(t->decode(Ids{1, word}, true), "a");
  EXPECT_EQ(t->decode(Ids{1, word}, false), "<s> a");  // as Hugging Face shows it
  // After a special token the text begins anew.
  EXPECT_EQ(t->encode("<s>a</s>a", {}), (Ids{1, word, 2, word}));
}

TEST(Spm, UserDefinedPiecesMatchBeforeMerges) {
  Small v;
  const TokenId two = v.add("  ", TokenType::kUserDefined), three = v.add("   ", TokenType::kUserDefined);
  const TokenId tag = v.add("<b>", TokenType::kUserDefined);
  v.add("ab", TokenType::kNormal, -1);
  const TokenId b_tag = v.add("b<b>", TokenType::kNormal, 0);
  (void)b_tag;
  const auto t = v.build();
  EXPECT_EQ(t->encode("a    b", {}), (Ids{v.id("a"), three, v.id(MARK), v.id("b")}));
  EXPECT_EQ(t->encode(MARK " ", {}), (Ids{two}));
  EXPECT_EQ(t->encode("ab<b>", kPlain), (Ids{v.id("ab"), tag}));
  EXPECT_EQ(t->decode(Ids{three, tag}), "   <b>");
}

TEST(Spm, ControlTokensAreTextUnlessParsed) {
  Small v;
  const auto t = v.build();
  EXPECT_EQ(t->encode("a<s><unk>", {}), (Ids{v.id("a"), 1, kUnknown}));
  EXPECT_EQ(t->encode("<s>", kPlain), (Ids{byte('<'), byte('s'), byte('>')}));
  EXPECT_EQ(t->decode(Ids{1, v.id("a"), 2}, true), "a");
}

TEST(Spm, UnusedPiecesAreStepsOnly) {
  Small v;
  v.add("ab", TokenType::kUnused, -1);
  const TokenId abc = v.add("abc", TokenType::kNormal, -2);
  const auto t = v.build();
  EXPECT_EQ(t->encode("abc", {}), (Ids{abc}));
  EXPECT_EQ(t->encode("abd", {}), (Ids{v.id("a"), v.id("b"), v.id("d")}));
}

TEST(Spm, DefaultsAreSentencePieces) {
  Small v;
  v.data.add_bos.reset();
  v.data.add_space_prefix.reset();
  const auto t = v.build();
  EXPECT_EQ(t->bos(), 1);
  EXPECT_EQ(t->eos(), 2);
  EXPECT_TRUE(t->is_end(2));
  EXPECT_EQ(t->encode("a", {.add_special = true}), (Ids{1, v.id(MARK), v.id("a")}));
}

TEST(Spm, RemovesExtraSpacesWhereTheFileAsks) {
  Small v(true, true);
  v.data.remove_extra_whitespaces = true;
  const auto t = v.build();
  EXPECT_EQ(t->encode("  a   b  ", {}), (Ids{v.id(MARK), v.id("a"), v.id(MARK), v.id("b")}));
  EXPECT_TRUE(t->encode("   ", {}).empty());
}

// Text is cut where no piece spans the boundary. Against one long merge over the whole text, by definition.
TEST(Spm, CutsNeverChangeTheTokens) {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    Small v;
    std::vector<std::string> pieces = {"a", "b", "c", "d", "e", " "};
    for (int i = 0; i < 12; ++i) {
      const std::string joined = pieces[random() % pieces.size()] + pieces[random() % pieces.size()];
      std::string text;
      for (char c : joined) c == ' ' ? text.append(MARK) : text.append(1, c);
      if (v.id(text) >= 0) continue;
      v.add(text, TokenType::kNormal, -static_cast<float>(random() % 6));
      pieces.push_back(joined);
    }
    const auto t = v.build();
    std::string text;
    for (int i = 0; i < 120; ++i) text += "abcde "[random() % 6];
    std::vector<std::string> parts;
    for (char c : text) parts.emplace_back(1, c);
    const auto find = [&](const std::string& piece) {
      for (TokenId id = 259; id < t->vocab_size(); ++id) {
        if (t->token_bytes(id) == piece) return id;
      }
      return TokenId{-1};
    };
    for (;;) {
      size_t best = parts.size();
      float score = 0;
      for (size_t i = 0; i + 1 < parts.size(); ++i) {
        const TokenId id = find(parts[i] + parts[i + 1]);
        if (id < 0 || (best != parts.size() && v.data.scores[static_cast<size_t>(id)] <= score)) continue;
        best = i;
        score = v.data.scores[static_cast<size_t>(id)];
      }
      if (best == parts.size()) break;
      parts[best] += parts[best + 1];
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    Ids expected;
    for (const std::string& p : parts) expected.push_back(find(p));
    ASSERT_EQ(t->encode(text, {}), expected) << text;
  }
}

TEST(Spm, RoundTripsEveryByteString) {
  Small v;
  v.add(MARK "ab", TokenType::kNormal, -1);
  const auto t = v.build();
  std::mt19937 random(6);
  for (int round = 0; round < 500; ++round) {
    std::string text = random() % 2 == 0 ? random_bytes(random, random() % 80) : random_text(random, random() % 80);
    for (size_t mark; (mark = text.find(MARK)) != std::string::npos;) text.replace(mark, 3, 1, ' ');
    ASSERT_EQ(t->decode(t->encode(text, {})), text);
  }
}

TEST(Spm, RefusesWhatDoesNotFit) {
  Small v;
  v.data.scores.pop_back();
  EXPECT_EQ(v.refusal(), "tokenizer.ggml.scores has 264 entries but tokenizer.ggml.tokens has 265");
  Small nan;
  nan.data.scores[7] = std::nanf("");
  EXPECT_EQ(nan.refusal(), "tokenizer.ggml.scores[7] is not a number");
  Small id;
  id.data.unknown = 265;
  EXPECT_EQ(id.refusal(), "tokenizer.ggml.unknown_token_id = 265 is not in the vocabulary of 265 tokens");
  TestVocab empty;
  empty.data.model = "llama";
  EXPECT_EQ(empty.refusal(), "tokenizer.ggml.tokens is empty");
}

}  // namespace
}  // namespace toccata
