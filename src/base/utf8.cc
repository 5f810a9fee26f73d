#include "base/utf8.h"

#include "base/check.h"

namespace toccata::utf8 {
namespace {

// What a lead byte promises: the length of the character and the range of its second byte. The range of
// the second byte alone excludes overlong forms (E0, F0), surrogates (ED) and values above U+10FFFF (F4).
struct Lead {
  int length;
  uint8_t second_min;
  uint8_t second_max;
};

constexpr Lead classify(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};  // a continuation byte, or C0/C1, which only begin overlong forms
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

bool continues(const Lead& lead, int index, uint8_t byte) {
  if (index == 1) return byte >= lead.second_min && byte <= lead.second_max;
  return (byte & 0xC0) == 0x80;
}

}  // namespace

Decoded decode(std::string_view text) {
  if (text.empty()) return {};
  const auto first = static_cast<uint8_t>(text[0]);
  const Lead lead = classify(first);
  if (lead.length <= 1) return {first, lead.length};
  if (text.size() < static_cast<size_t>(lead.length)) return {};
  uint32_t value = first & (0x7Fu >> lead.length);
  for (int i = 1; i < lead.length; ++i) {
    const auto byte = static_cast<uint8_t>(text[static_cast<size_t>(i)]);
    if (!continues(lead, i, byte)) return {};
    value = value << 6 | (byte & 0x3Fu);
  }
  return {value, lead.length};
}

bool is_valid(std::string_view text) {
  while (!text.empty()) {
    const int length = decode(text).length;
    if (length == 0) return false;
    text.remove_prefix(static_cast<size_t>(length));
  }
  return true;
}

size_t incomplete_tail(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const std::string_view tail = text.substr(text.size() - back);
    const auto first = static_cast<uint8_t>(tail[0]);
    if ((first & 0xC0) == 0x80) continue;
    const Lead lead = classify(first);
    if (static_cast<size_t>(lead.length) <= back) return 0;
    for (size_t i = 1; i < back; ++i) {
      if (!continues(lead, static_cast<int>(i), static_cast<uint8_t>(tail[i]))) return 0;
    }
    return back;
  }
  return 0;
}

void append(std::string& out, uint32_t code_point) {
  TOCCATA_CHECK(code_point <= 0x10FFFF && (code_point < 0xD800 || code_point > 0xDFFF));
  const auto put = [&out](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

}  // namespace toccata::utf8
