// Text as Python's str sees it: code points, Unicode character classes and full case mappings (ICU).
// Every std::string here is valid UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace toccata::jinja {

size_t count_code_points(std::string_view text);
// Reads the code point at byte `pos` and moves `pos` behind it; pos < text.size().
uint32_t next_code_point(std::string_view text, size_t& pos);
// Byte offset of the code point with index `index`; text.size() when index is past the end.
size_t byte_offset(std::string_view text, size_t index);
std::vector<uint32_t> to_code_points(std::string_view text);
std::string from_code_points(const std::vector<uint32_t>& code_points);

// str.isspace of one character: also what \s means in Python's re and what strip() removes.
bool is_space(uint32_t c);
bool is_alpha(uint32_t c);
bool is_decimal(uint32_t c);
bool is_digit(uint32_t c);
bool is_numeric(uint32_t c);
bool is_alnum(uint32_t c);
bool is_upper(uint32_t c);
bool is_lower(uint32_t c);
bool is_title(uint32_t c);
bool is_cased(uint32_t c);
bool is_printable(uint32_t c);
bool is_line_break(uint32_t c);  // of str.splitlines
int decimal_value(uint32_t c);   // 0..9, or -1
bool is_id_start(uint32_t c);
bool is_id_continue(uint32_t c);

std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
std::string to_title(std::string_view text);    // str.title
std::string capitalize(std::string_view text);  // str.capitalize
std::string swap_case(std::string_view text);
std::string case_fold(std::string_view text);

// Whitespace (is_space) cut off at the left, at the right.
std::string_view strip_left(std::string_view text);
std::string_view strip_right(std::string_view text);
inline std::string_view strip(std::string_view text) { return strip_left(strip_right(text)); }

}  // namespace toccata::jinja
