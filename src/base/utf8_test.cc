#include "base/utf8.h"

#include <gtest/gtest.h>

namespace toccata::utf8 {
namespace {

TEST(Utf8, RoundTripOfEveryScalarValue) {
  for (uint32_t cp = 0; cp <= 0x10FFFF; ++cp) {
    if (cp >= 0xD800 && cp <= 0xDFFF) continue;
    std::string text;
    append(text, cp);
    const Decoded d = decode(text + "x");
    ASSERT_EQ(d.code_point, cp);
    ASSERT_EQ(static_cast<size_t>(d.length), text.size());
    for (size_t n = 1; n < text.size(); ++n) {
      ASSERT_EQ(decode(text.substr(0, n)).length, 0) << cp;
      ASSERT_EQ(incomplete_tail("ab" + text.substr(0, n)), n) << cp;
    }
    ASSERT_EQ(incomplete_tail(text), 0u);
  }
}

// Every pair of bytes, and every triple with a fixed end: accepted exactly when re-encoding gives the same bytes.
TEST(Utf8, AcceptsOnlyCanonicalForms) {
  int valid = 0;
  for (uint32_t bytes = 0; bytes <= 0xFFFF; ++bytes) {
    for (const std::string rest : {"", "\x80", "\xBF\x80"}) {
      std::string text{static_cast<char>(bytes >> 8), static_cast<char>(bytes & 0xFF)};
      text += rest;
      const Decoded d = decode(text);
      if (d.length == 0) continue;
      std::string again;
      append(again, d.code_point);
      ASSERT_EQ(again, text.substr(0, static_cast<size_t>(d.length)));
      ++valid;
    }
  }
  // Table 3-7 of the standard: 128 leads of one byte, 30 of two; of three bytes E0 and ED have 32 second bytes and
  // 14 leads have 64; of four bytes F0 has 48, three leads have 64, F4 has 16.
  const int one_and_two = 128 * 256 + 30 * 64, three = 14 * 64 + 2 * 32, four = 48 + 3 * 64 + 16;
  EXPECT_EQ(valid, 3 * one_and_two + 2 * three + four);
}

TEST(Utf8, Validity) {
  EXPECT_TRUE(is_valid(""));
  EXPECT_TRUE(is_valid("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"));
  EXPECT_FALSE(is_valid("\xC0\x80"));          // overlong
  EXPECT_FALSE(is_valid("\xED\xA0\x80"));      // surrogate
  EXPECT_FALSE(is_valid("\xF4\x90\x80\x80"));  // above U+10FFFF
  EXPECT_FALSE(is_valid("abc\xE2\x82"));       // truncated
}

TEST(Utf8, TailThatCanNeverCompleteIsNotIncomplete) {
  EXPECT_EQ(incomplete_tail("\x80\x80\x80\x80"), 0u);
  EXPECT_EQ(incomplete_tail("a\xE0\x80"), 0u);  // overlong
  EXPECT_EQ(incomplete_tail("a\xED\xA0"), 0u);  // surrogate
  EXPECT_EQ(incomplete_tail("a\xF4\x90"), 0u);
  EXPECT_EQ(incomplete_tail("a\xFF"), 0u);
  EXPECT_EQ(incomplete_tail(""), 0u);
}

}  // namespace
}  // namespace toccata::utf8
