#include "text/tokenizer/same_vocabulary.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace toccata {
namespace {

// A table of tokens and nothing else.
class Table final : public Tokenizer {
 public:
  std::vector<std::string> texts = {"<s>", "</s>", "a", "b", "c"};
  std::vector<TokenType> types = std::vector<TokenType>(5, TokenType::kNormal);
  TokenId first = 0, last = 1;

  void pad(const std::string& text, TokenType type) {
    texts.push_back(text);
    types.push_back(type);
  }
  std::vector<TokenId> encode(std::string_view, const EncodeOptions&) const override { return {}; }
  std::string_view token_bytes(TokenId id) const override { return token_text(id); }
  std::string decode(std::span<const TokenId>, bool) const override { return {}; }
  int32_t vocab_size() const override { return static_cast<int32_t>(texts.size()); }
  TokenType token_type(TokenId id) const override { return types[static_cast<size_t>(id)]; }
  TokenId bos() const override { return first; }
  TokenId eos() const override { return last; }
  bool add_bos() const override { return true; }
  bool is_end(TokenId id) const override { return id == last; }
  std::string_view token_text(TokenId id) const override { return texts[static_cast<size_t>(id)]; }
};

std::string refusal(const Table& target, const Table& drafter) {
  const Status s = check_same_vocabulary(target, "large.gguf", drafter, "small.gguf");
  return s ? "" : s.error().message;
}

void expect_named(const std::string& message, const std::string& what) {
  for (const std::string& part : {std::string("'small.gguf'"), std::string("'large.gguf'"), what}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST(SameVocabulary, TakesTheSameAndPadding) {
  Table a, b;
  EXPECT_EQ(refusal(a, b), "");
  b.pad("[PAD5]", TokenType::kUnused);
  b.pad("[PAD6]", TokenType::kUnused);
  EXPECT_EQ(refusal(a, b), "");
  EXPECT_EQ(refusal(b, a), "");
  b.first = -1;
  EXPECT_EQ(refusal(a, b), "");
}

TEST(SameVocabulary, NamesTheDifference) {
  Table a, text, end, longer, bos;
  text.texts[3] = "B\xff";
  expect_named(refusal(a, text), "token 3 ");
  end.last = 2;
  expect_named(refusal(a, end), "token 1 ");
  longer.pad("d", TokenType::kNormal);
  expect_named(refusal(a, longer), "number of tokens");
  expect_named(refusal(longer, a), "number of tokens");
  bos.first = 2;
  expect_named(refusal(a, bos), "BOS");
}

}  // namespace
}  // namespace toccata
