// Strict UTF-8 (Unicode 15, table 3-7): no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace toccata::utf8 {

struct Decoded {
  uint32_t code_point = 0;
  int length = 0;  // bytes used, 1 to 4; 0 when the bytes are not a complete, valid character
};

// Decodes the character at the front of `text`; an empty text gives length 0.
Decoded decode(std::string_view text);

bool is_valid(std::string_view text);

// How many bytes at the end of `text` (0 to 3) are the beginning of a character whose rest is missing.
// Bytes that can never become a valid character do not count.
size_t incomplete_tail(std::string_view text);

// Appends the encoding of `code_point`, which must be a Unicode scalar value (not a surrogate, at most U+10FFFF).
void append(std::string& out, uint32_t code_point);

}  // namespace toccata::utf8
