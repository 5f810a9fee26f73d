#include "text/chat_template/unicode.h"

#include <algorithm>

#include <unicode/uchar.h>
#include <unicode/ustring.h>

#include "base/utf8.h"

namespace toccata::jinja {
namespace {

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

enum class Mapping { kUpper, kLower, kTitle, kFold };

// Full (one to many) case mapping of one character without context.
void append_mapped(std::string& out, uint32_t c, Mapping mapping) {
  UChar source[2];
  int32_t source_length = 0;
  U16_APPEND_UNSAFE(source, source_length, c);
  UChar mapped[8];
  UErrorCode status = U_ZERO_ERROR;
  int32_t length = 0;
  switch (mapping) {
    case Mapping::kUpper:
      length = u_strToUpper(mapped, 8, source, source_length, "", &status);
      break;
    case Mapping::kLower:
      length = u_strToLower(mapped, 8, source, source_length, "", &status);
      break;
    case Mapping::kTitle:
      length = u_strToTitle(mapped, 8, source, source_length, nullptr, "", &status);
      break;
    case Mapping::kFold:
      length = u_strFoldCase(mapped, 8, source, source_length, U_FOLD_CASE_DEFAULT, &status);
      break;
  }
  if (length > 8 || U_FAILURE(status)) {
    utf8::append(out, c);
    return;
  }
  // ICU gives a word that begins with a combining mark no title case; Python maps the mark itself (U+0345).
  if (mapping == Mapping::kTitle && u_getCombiningClass(static_cast<UChar32>(c)) != 0) {
    utf8::append(out, static_cast<uint32_t>(u_totitle(static_cast<UChar32>(c))));
    return;
  }
  for (int32_t i = 0; i < length;) {
    UChar32 m = 0;
    U16_NEXT(mapped, i, length, m);
    utf8::append(out, static_cast<uint32_t>(m));
  }
}

bool is_case_ignorable(uint32_t c) { return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_CASE_IGNORABLE); }

// Unicode's Final_Sigma: a cased letter before, none after, case-ignorable characters skipped.
bool is_final_sigma(const std::vector<uint32_t>& text, size_t at) {
  size_t before = at;
  while (before > 0 && is_case_ignorable(text[before - 1])) --before;
  if (before == 0 || !is_cased(text[before - 1])) return false;
  size_t after = at + 1;
  while (after < text.size() && is_case_ignorable(text[after])) ++after;
  return after == text.size() || !is_cased(text[after]);
}

void append_lower(std::string& out, const std::vector<uint32_t>& text, size_t at) {
  const uint32_t c = text[at];
  if (c < 0x80) {
    out += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  } else if (c == 0x3A3) {
    utf8::append(out, is_final_sigma(text, at) ? 0x3C2 : 0x3C3);
  } else {
    append_mapped(out, c, Mapping::kLower);
  }
}

template <class Fn>
std::string map_ascii(std::string_view text, Fn fn) {
  std::string out(text);
  for (char& c : out) c = fn(c);
  return out;
}

std::string map_each(std::string_view text, Mapping mapping) {
  std::string out;
  for (size_t pos = 0; pos < text.size();) append_mapped(out, next_code_point(text, pos), mapping);
  return out;
}

}  // namespace

size_t count_code_points(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

uint32_t next_code_point(std::string_view text, size_t& pos) {
  const auto first = static_cast<unsigned char>(text[pos]);
  if (first < 0x80) {
    ++pos;
    return first;
  }
  const utf8::Decoded decoded = utf8::decode(text.substr(pos));
  pos += static_cast<size_t>(std::max(decoded.length, 1));
  return decoded.code_point;
}

size_t byte_offset(std::string_view text, size_t index) {
  size_t pos = 0;
  for (; pos < text.size(); ++pos) {
    if (is_continuation(text[pos])) continue;
    if (index == 0) return pos;
    --index;
  }
  return pos;
}

std::vector<uint32_t> to_code_points(std::string_view text) {
  std::vector<uint32_t> out;
  out.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) out.push_back(next_code_point(text, pos));
  return out;
}

std::string from_code_points(const std::vector<uint32_t>& code_points) {
  std::string out;
  for (uint32_t c : code_points) utf8::append(out, c);
  return out;
}

bool is_space(uint32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_line_break(uint32_t c) {
  return (c >= 10 && c <= 13) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_alpha(uint32_t c) { return (U_MASK(u_charType(static_cast<UChar32>(c))) & U_GC_L_MASK) != 0; }
bool is_decimal(uint32_t c) {
  return u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_NUMERIC_TYPE) == U_NT_DECIMAL;
}
bool is_digit(uint32_t c) {
  const int type = u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_NUMERIC_TYPE);
  return type == U_NT_DECIMAL || type == U_NT_DIGIT;
}
bool is_numeric(uint32_t c) { return u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_NUMERIC_TYPE) != U_NT_NONE; }
bool is_alnum(uint32_t c) { return is_alpha(c) || is_numeric(c); }
bool is_upper(uint32_t c) { return u_isUUppercase(static_cast<UChar32>(c)); }
bool is_lower(uint32_t c) { return u_isULowercase(static_cast<UChar32>(c)); }
bool is_title(uint32_t c) { return u_charType(static_cast<UChar32>(c)) == U_TITLECASE_LETTER; }
bool is_cased(uint32_t c) { return is_upper(c) || is_lower(c) || is_title(c); }
bool is_printable(uint32_t c) {
  constexpr uint32_t kHidden = U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CS_MASK | U_GC_CO_MASK | U_GC_CN_MASK | U_GC_ZL_MASK |
                               U_GC_ZP_MASK | U_GC_ZS_MASK;
  return c == ' ' || (U_MASK(u_charType(static_cast<UChar32>(c))) & kHidden) == 0;
}
int decimal_value(uint32_t c) { return is_decimal(c) ? u_charDigitValue(static_cast<UChar32>(c)) : -1; }
bool is_id_start(uint32_t c) { return c == '_' || u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_XID_START); }
bool is_id_continue(uint32_t c) { return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_XID_CONTINUE); }

std::string to_upper(std::string_view text) {
  if (is_ascii(text))
    return map_ascii(text, [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return map_each(text, Mapping::kUpper);
}

std::string to_lower(std::string_view text) {
  if (is_ascii(text))
    return map_ascii(text, [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const std::vector<uint32_t> source = to_code_points(text);
  std::string out;
  for (size_t i = 0; i < source.size(); ++i) append_lower(out, source, i);
  return out;
}

std::string to_title(std::string_view text) {
  const std::vector<uint32_t> source = to_code_points(text);
  std::string out;
  bool inside = false;
  for (size_t i = 0; i < source.size(); ++i) {
    if (inside) {
      append_lower(out, source, i);
    } else {
      append_mapped(out, source[i], Mapping::kTitle);
    }
    inside = is_cased(source[i]);
  }
  return out;
}

std::string capitalize(std::string_view text) {
  const std::vector<uint32_t> source = to_code_points(text);
  std::string out;
  for (size_t i = 0; i < source.size(); ++i) {
    if (i == 0) {
      append_mapped(out, source[i], Mapping::kTitle);
    } else {
      append_lower(out, source, i);
    }
  }
  return out;
}

std::string swap_case(std::string_view text) {
  const std::vector<uint32_t> source = to_code_points(text);
  std::string out;
  for (size_t i = 0; i < source.size(); ++i) {
    if (is_upper(source[i])) {
      append_lower(out, source, i);
    } else if (is_lower(source[i])) {
      append_mapped(out, source[i], Mapping::kUpper);
    } else {
      utf8::append(out, source[i]);
    }
  }
  return out;
}

std::string case_fold(std::string_view text) { return map_each(text, Mapping::kFold); }

std::string_view strip_left(std::string_view text) {
  size_t pos = 0;
  while (pos < text.size()) {
    size_t next = pos;
    if (!is_space(next_code_point(text, next))) break;
    pos = next;
  }
  return text.substr(pos);
}

std::string_view strip_right(std::string_view text) {
  while (!text.empty()) {
    size_t start = text.size() - 1;
    while (start > 0 && is_continuation(text[start])) --start;
    size_t pos = start;
    if (!is_space(next_code_point(text, pos))) break;
    text = text.substr(0, start);
  }
  return text;
}

}  // namespace toccata::jinja
