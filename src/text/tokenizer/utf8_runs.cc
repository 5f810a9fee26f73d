#include "text/tokenizer/utf8_runs.h"

#include <cstdint>
#include <cstring>

namespace toccata {

Utf8Char decode_ill_formed(std::string_view text, size_t pos) {
  const std::string_view rest = text.substr(pos);
  for (size_t length = 3; length > 0; --length) {
    if (length > rest.size() || utf8::incomplete_tail(rest.substr(0, length)) != length) continue;
    return {0xFFFD, length, false, length == rest.size()};
  }
  return {0xFFFD, 1, false, false};
}

size_t valid_run_end(std::string_view text, size_t pos) {
  while (pos < text.size()) {
    uint64_t eight = ~uint64_t{0};
    if (pos + 8 <= text.size()) std::memcpy(&eight, text.data() + pos, 8);
    if ((eight & 0x8080808080808080u) == 0) {
      pos += 8;
      continue;
    }
    const Utf8Char c = decode_utf8(text, pos);
    if (!c.valid) break;
    pos += c.length;
  }
  return pos;
}

size_t invalid_run_end(std::string_view text, size_t pos) {
  while (pos < text.size()) {
    const Utf8Char c = decode_utf8(text, pos);
    if (c.valid) break;
    pos += c.length;
  }
  return pos;
}

std::string to_valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) {
    const size_t end = valid_run_end(text, pos);
    out.append(text, pos, end - pos);
    pos = end;
    if (pos < text.size()) {
      pos += decode_utf8(text, pos).length;
      out += "\xEF\xBF\xBD";
    }
  }
  return out;
}

}  // namespace toccata
