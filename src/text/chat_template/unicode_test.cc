#include "text/chat_template/unicode.h"

#include <gtest/gtest.h>

namespace toccata::jinja {
namespace {

TEST(Unicode, CountsAndFindsCodePoints) {
  EXPECT_EQ(count_code_points("aé日😀"), 4u);
  EXPECT_EQ(byte_offset("aé日😀", 0), 0u);
  EXPECT_EQ(byte_offset("aé日😀", 2), 3u);
  EXPECT_EQ(byte_offset("aé日😀", 4), 10u);
  EXPECT_EQ(byte_offset("aé", 9), 3u);
  EXPECT_EQ(from_code_points(to_code_points("aé日😀")), "aé日😀");
}

TEST(Unicode, MapsCaseFullyAndInContext) {
  EXPECT_EQ(to_upper("straße ﬁ"), "STRASSE FI");
  EXPECT_EQ(to_lower("ΟΔΟΣ ΣΑΣ Σ"), "οδος σας σ");
  EXPECT_EQ(to_title("ǆabc o'neil ŉx"), "ǅabc O'Neil ʼNx");
  EXPECT_EQ(to_title("\u0345"), "\u0399");  // a combining mark that has a title case
  EXPECT_EQ(capitalize("ßÀ ΑΣ"), "Ssà ας");
  EXPECT_EQ(swap_case("aBß"), "AbSS");
  EXPECT_EQ(case_fold("ẞﬁ"), "ssfi");
}

TEST(Unicode, StripsPythonsWhitespace) {
  EXPECT_EQ(strip("\u3000\x1c a\u00a0b \u2028\t"), "a\u00a0b");
  EXPECT_EQ(strip_left(" \n"), "");
  EXPECT_EQ(strip_right(" \u200b"), " \u200b");  // zero width space is no whitespace
}

TEST(Unicode, ClassifiesAsPythonDoes) {
  EXPECT_TRUE(is_digit(0xB2) && !is_decimal(0xB2));  // superscript two
  EXPECT_TRUE(is_numeric(0xBD) && !is_digit(0xBD));  // one half
  EXPECT_EQ(decimal_value(0x0663), 3);               // Arabic-Indic three
  EXPECT_TRUE(is_printable(' ') && !is_printable(0xA0) && !is_printable(0x7F) && !is_printable(0x2028));
  EXPECT_TRUE(is_alpha(0x65E5) && !is_alpha('1') && is_title(0x1C5));
}

}  // namespace
}  // namespace toccata::jinja
