// UTF-8 in untrusted text, where base/utf8.h ends: what to do with the bytes that are no character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace toccata {

struct Utf8Char {
  char32_t code_point = 0;  // U+FFFD for an ill-formed sequence
  size_t length = 0;        // bytes, at least 1; of an ill-formed sequence its maximal subpart (Unicode 15, 3.9)
  bool valid = false;
  bool cut = false;  // ill-formed only because the text ends: more bytes could complete it
};

Utf8Char decode_ill_formed(std::string_view text, size_t pos);

// The character, or ill-formed sequence, at text[pos]; pos < text.size().
inline Utf8Char decode_utf8(std::string_view text, size_t pos) {
  const auto byte = static_cast<unsigned char>(text[pos]);
  if (byte < 0x80) return {byte, 1, true, false};
  const utf8::Decoded d = utf8::decode(text.substr(pos));
  if (d.length == 0) return decode_ill_formed(text, pos);
  return {d.code_point, static_cast<size_t>(d.length), true, false};
}

// End of the longest well-formed run that begins at pos (pos itself when text[pos] is ill-formed).
size_t valid_run_end(std::string_view text, size_t pos);
// End of the longest run of ill-formed sequences that begins at pos.
size_t invalid_run_end(std::string_view text, size_t pos);

// Each maximal subpart of an ill-formed sequence becomes one U+FFFD, as the WHATWG Encoding Standard does it.
std::string to_valid_utf8(std::string_view text);

}  // namespace toccata
