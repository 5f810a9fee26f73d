#include "text/tokenizer/pretokenizer.h"

#include <gtest/gtest.h>
#include <unicode/uchar.h>

#include <algorithm>

#include "text/tokenizer/test_vocab.h"
#include "text/tokenizer/utf8_runs.h"

namespace toccata {
namespace {

std::vector<std::string> pieces(std::string_view name, std::string_view text) {
  const PreTokenizerSpec* spec = find_pretokenizer(name);
  EXPECT_NE(spec, nullptr) << name;
  std::vector<size_t> ends;
  PreTokenizer(*spec).split(text, ends);
  std::vector<std::string> out;
  size_t begin = 0;
  for (size_t end : ends) {
    out.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  EXPECT_EQ(begin, text.size());
  return out;
}

using Pieces = std::vector<std::string>;

TEST(PreTokenizer, SplitsAsTheModelsDo) {
  EXPECT_EQ(pieces("gpt-2", "I've 12 cats\n\n  x!!"), (Pieces{"I", "'ve", " 12", " cats", "\n\n ", " x", "!!"}));
  EXPECT_EQ(pieces("gpt-2", "I'VE  "), (Pieces{"I", "'", "VE", "  "}));
  EXPECT_EQ(pieces("smollm", "v 12.5"), (Pieces{"v", " ", "1", "2", ".", "5"}));
  EXPECT_EQ(pieces("qwen2", "I'VE 12 (cats)\n\n  x"),
            (Pieces{"I", "'VE", " ", "1", "2", " (", "cats", ")\n\n", " ", " x"}));
  EXPECT_EQ(pieces("llama-bpe", "12345 a \n b"), (Pieces{"123", "45", " a", " \n", " b"}));
  EXPECT_EQ(pieces("qwen2", "a\xCC\x81z"), (Pieces{"a", "\xCC\x81z"}));  // a mark may lead a word
  EXPECT_EQ(pieces("qwen35", "a\xCC\x81z"), (Pieces{"a\xCC\x81z"}));     // or be part of it
  EXPECT_EQ(pieces("gpt-4o", "parserHTML'll go"), (Pieces{"parser", "HTML'll", " go"}));
  EXPECT_EQ(pieces("tekken", "camelCase12"), (Pieces{"camel", "Case", "1", "2"}));
  EXPECT_EQ(pieces("falcon", "a=12345"), (Pieces{"a", "=", "123", "45"}));
  EXPECT_EQ(pieces("deepseek-v3", "x_1234 中文"), (Pieces{"x", "_", "123", "4", " ", "中文"}));
  EXPECT_EQ(pieces("deepseek-llm", "ab \n c,d "), (Pieces{"ab", " ", "\n", " c", ",", "d", " "}));
  EXPECT_EQ(pieces("bloom", "a,b c"), (Pieces{"a", ",", "b", " c"}));
}

// The letters of the bytes of U+00B2 include the digit-like one of byte B2; Falcon's digit split comes after them.
TEST(PreTokenizer, FalconSplitsDigitsAmongBytes) {
  EXPECT_EQ(pieces("falcon", "a\xC2\xB2"), (Pieces{"a", "\xC2", "\xB2"}));
}

TEST(PreTokenizer, LongSIsAContractionWhereCaseIsIgnored) {
  EXPECT_EQ(pieces("qwen2", "a'\xC5\xBF"), (Pieces{"a", "'\xC5\xBF"}));
  EXPECT_EQ(pieces("gpt-2", "a'\xC5\xBF"), (Pieces{"a", "'", "\xC5\xBF"}));
}

TEST(PreTokenizer, MongolianVowelSeparatorIsNoSpace) {
  EXPECT_EQ(pieces("gpt-2", " \xE1\xA0\x8E"), (Pieces{" \xE1\xA0\x8E"}));
  EXPECT_EQ(pieces("default", " \xE1\xA0\x8E"), (Pieces{" \xE1\xA0\x8E"}));
}

TEST(PreTokenizer, KnowsNoOtherNames) { EXPECT_EQ(find_pretokenizer("gpt-17"), nullptr); }

class EverySpec : public ::testing::TestWithParam<PreTokenizerSpec> {};
class EveryScanner : public EverySpec {};

TEST_P(EverySpec, CoversTheTextWithoutEmptyPieces) {
  std::mt19937 random(1);
  const PreTokenizer pretokenizer(GetParam());
  for (int round = 0; round < 200; ++round) {
    const std::string text = random_text(random, random() % 60);
    std::vector<size_t> ends;
    pretokenizer.split(text, ends);
    size_t begin = 0;
    for (size_t end : ends) {
      ASSERT_GT(end, begin) << testing::PrintToString(text);
      begin = end;
    }
    ASSERT_EQ(begin, text.size());
  }
}

// The engine's Unicode tables are older than ICU's: characters that it does not know yet are left out.
std::string known_to_pcre(std::string_view text) {
  std::string out;
  for (size_t pos = 0; pos < text.size();) {
    const Utf8Char c = decode_utf8(text, pos);
    UVersionInfo age;
    u_charAge(static_cast<UChar32>(c.code_point), age);
    if (age[0] <= 14) out += text.substr(pos, c.length);
    pos += c.length;
  }
  return out;
}

TEST_P(EveryScanner, ScannerEqualsTheRegularExpression) {
  std::mt19937 random(2);
  const PreTokenizer fastest(GetParam()), regex(GetParam(), PreTokenizer::Engine::kRegex);
  for (int round = 0; round < 10000; ++round) {
    const std::string text = known_to_pcre(random_text(random, random() % 40));
    std::vector<size_t> scanned, matched;
    fastest.split(text, scanned);
    regex.split(text, matched);
    ASSERT_EQ(scanned, matched) << testing::PrintToString(text);
  }
}

// Every character, alone and beside what it could join.
TEST_P(EveryScanner, ScannerClassifiesEveryCharacter) {
  const PreTokenizer fastest(GetParam()), regex(GetParam(), PreTokenizer::Engine::kRegex);
  std::string text;
  for (uint32_t c = 0; c < 0x110000; ++c) {
    const int8_t category = u_charType(static_cast<UChar32>(c));
    if (category == U_SURROGATE || (c >= 0x10000 && (category == U_UNASSIGNED || category == U_PRIVATE_USE_CHAR)))
      continue;
    text += "x";
    utf8::append(text, c);
    text += "1";
    utf8::append(text, c);
    text += ".";
    utf8::append(text, c);
    text += " ";
  }
  text = known_to_pcre(text);
  std::vector<size_t> scanned, matched;
  fastest.split(text, scanned);
  regex.split(text, matched);
  EXPECT_TRUE(scanned == matched);
}

// One of the names that share their stages.
std::vector<PreTokenizerSpec> kinds(bool scanners_only) {
  std::vector<PreTokenizerSpec> out;
  for (const PreTokenizerSpec& spec : all_pretokenizers()) {
    if (scanners_only && spec.scanner == Scanner::kNone) continue;
    const auto same = [&](const PreTokenizerSpec& o) {
      return o.stages.size() == spec.stages.size() && o.stages[0].pattern == spec.stages[0].pattern;
    };
    if (std::none_of(out.begin(), out.end(), same)) out.push_back(spec);
  }
  return out;
}

std::string test_name(const ::testing::TestParamInfo<PreTokenizerSpec>& info) {
  std::string name(info.param.name);
  for (char& c : name) c = c == '-' || c == '.' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Names, EverySpec, ::testing::ValuesIn(kinds(false)), test_name);
INSTANTIATE_TEST_SUITE_P(Names, EveryScanner, ::testing::ValuesIn(kinds(true)), test_name);

}  // namespace
}  // namespace toccata
