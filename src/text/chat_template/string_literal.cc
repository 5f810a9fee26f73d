#include "text/chat_template/string_literal.h"

#include "base/utf8.h"
#include "text/chat_template/fault.h"
#include "text/chat_template/unicode.h"

namespace toccata::jinja {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Reads `digits` hexadecimal digits at `pos`.
void append_hex_escape(std::string& out, std::string_view body, size_t& pos, int digits) {
  uint32_t c = 0;
  for (int i = 0; i < digits; ++i, ++pos) {
    const int value = pos < body.size() ? hex_value(body[pos]) : -1;
    if (value < 0) raise("truncated escape in a string");
    c = c * 16 + static_cast<uint32_t>(value);
  }
  if (c > 0x10FFFF) raise("illegal Unicode character in a string");
  if (c >= 0xD800 && c < 0xE000) refuse("surrogate code points in strings");
  utf8::append(out, c);
}

void append_octal_escape(std::string& out, std::string_view body, size_t& pos) {
  uint32_t c = 0;
  for (int i = 0; i < 3 && pos < body.size() && body[pos] >= '0' && body[pos] <= '7'; ++i, ++pos) {
    c = c * 8 + static_cast<uint32_t>(body[pos] - '0');
  }
  utf8::append(out, c);
}

// jinja2 writes non-ASCII characters as \xNN, \uNNNN or \UNNNNNNNN before it decodes; behind a backslash that text
// stays, because the two backslashes together are an escaped one.
void append_escaped_non_ascii(std::string& out, std::string_view body, size_t& pos) {
  const uint32_t c = next_code_point(body, pos);
  const int digits = c < 0x100 ? 2 : c < 0x10000 ? 4 : 8;
  out += digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U";
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += "0123456789abcdef"[(c >> shift) & 15];
}

}  // namespace

std::string decode_string_literal(std::string_view body) {
  constexpr std::string_view kNames = "\\'\"abfnrtv";
  constexpr std::string_view kValues = "\\'\"\a\b\f\n\r\t\v";
  std::string out;
  for (size_t pos = 0; pos < body.size();) {
    if (body[pos] != '\\') {
      out += body[pos++];
      continue;
    }
    if (++pos == body.size()) raise("\\ at end of string");
    const char c = body[pos];
    const size_t simple = kNames.find(c);
    if (static_cast<unsigned char>(c) >= 0x80) {
      append_escaped_non_ascii(out, body, pos);
    } else if (c >= '0' && c <= '7') {
      append_octal_escape(out, body, pos);
    } else if (c == 'x' || c == 'u' || c == 'U') {
      append_hex_escape(out, body, ++pos, c == 'x' ? 2 : c == 'u' ? 4 : 8);
    } else if (c == 'N') {
      refuse("\\N{...} in strings");
    } else {
      ++pos;
      if (c == '\n') continue;
      if (simple == std::string_view::npos) out += '\\';
      out += simple == std::string_view::npos ? c : kValues[simple];
    }
  }
  return out;
}

}  // namespace toccata::jinja
