#include "text/tokenizer/scanners.h"

#include <unicode/uchar.h>

#include <array>

#include "text/tokenizer/utf8_runs.h"

namespace toccata {

namespace {

// The classes that the patterns tell apart; a character has exactly one.
enum class CharClass : uint8_t { kLetter, kMark, kNumber, kNewline, kSpace, kOther, kEnd };

CharClass classify(char32_t cp) {
  if (cp == '\r' || cp == '\n') return CharClass::kNewline;
  if (u_hasBinaryProperty(static_cast<UChar32>(cp), UCHAR_WHITE_SPACE)) return CharClass::kSpace;
  const uint32_t mask = U_GET_GC_MASK(static_cast<UChar32>(cp));
  if ((mask & U_GC_L_MASK) != 0) return CharClass::kLetter;
  if ((mask & U_GC_N_MASK) != 0) return CharClass::kNumber;
  if ((mask & U_GC_M_MASK) != 0) return CharClass::kMark;
  return CharClass::kOther;
}

// Code points below U+0800 (everything that UTF-8 writes in two bytes) come from a table.
std::array<CharClass, 0x800> make_table() {
  std::array<CharClass, 0x800> table{};
  for (size_t cp = 0; cp < table.size(); ++cp) table[cp] = classify(static_cast<char32_t>(cp));
  return table;
}

struct Peek {
  CharClass type = CharClass::kEnd;
  char32_t code_point = 0;
  size_t length = 0;
};

class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  size_t size() const { return text_.size(); }
  char byte(size_t pos) const { return pos < text_.size() ? text_[pos] : '\0'; }

  Peek at(size_t pos) const {
    static const std::array<CharClass, 0x800> table = make_table();
    if (pos >= text_.size()) return {};
    const Utf8Char c = decode_utf8(text_, pos);
    const CharClass type = c.code_point < table.size() ? table[c.code_point] : classify(c.code_point);
    return {type, c.code_point, c.length};
  }

  // End of the run of characters that satisfy `in`, from pos on.
  template <class In>
  size_t run(size_t pos, In&& in) const {
    for (Peek p = at(pos); p.length != 0 && in(p.type); p = at(pos)) pos += p.length;
    return pos;
  }

 private:
  std::string_view text_;
};

bool is_space(CharClass t) { return t == CharClass::kSpace || t == CharClass::kNewline; }
bool is_newline(CharClass t) { return t == CharClass::kNewline; }

// Length of 's 't 're 've 'm 'll 'd at pos, 0 for none. Ignoring case, s also is U+017F (its only other case
// variant outside ASCII among these letters).
size_t contraction(const Cursor& text, size_t pos, bool ignore_case) {
  if (text.byte(pos) != '\'') return 0;
  const auto lower = [&](size_t p) {
    const char c = text.byte(p);
    return ignore_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  const char a = lower(pos + 1), b = lower(pos + 2);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return 3;
  if (ignore_case && text.at(pos + 1).code_point == 0x17F) return 3;
  return 0;
}

// \s+(?!\S)|\s+ from pos, where white space begins: the whole run if the text ends there, else all but its last
// character, at least one.
size_t white_space(const Cursor& text, size_t pos) {
  size_t last = pos, end = pos;
  for (Peek p = text.at(pos); is_space(p.type); p = text.at(end)) {
    last = end;
    end += p.length;
  }
  return end == text.size() || last == pos ? end : last;
}

size_t next_gpt2(const Cursor& text, size_t pos) {
  if (const size_t n = contraction(text, pos, false); n != 0) return pos + n;
  const bool skip = text.byte(pos) == ' ' && !is_space(text.at(pos + 1).type) && pos + 1 < text.size();
  const size_t start = skip ? pos + 1 : pos;
  switch (text.at(start).type) {
    case CharClass::kLetter:
      return text.run(start, [](CharClass t) { return t == CharClass::kLetter; });
    case CharClass::kNumber:
      return text.run(start, [](CharClass t) { return t == CharClass::kNumber; });
    case CharClass::kMark:
    case CharClass::kOther:
      return text.run(start, [](CharClass t) { return t == CharClass::kMark || t == CharClass::kOther; });
    default:
      return white_space(text, pos);
  }
}

class CasedScanner {
 public:
  CasedScanner(std::string_view text, const CasedRules& rules) : text_(text), rules_(rules) {}

  size_t next(size_t pos) const {
    if (const size_t n = contraction(text_, pos, true); n != 0) return pos + n;
    const Peek first = text_.at(pos);
    if (letter(first.type)) return letters(pos);
    if (first.type == CharClass::kNumber) return digits(pos);
    const Peek second = text_.at(pos + first.length);
    if (first.type != CharClass::kNewline && letter(second.type)) return letters(pos + first.length);
    if (other(first.type)) return symbols(pos);
    if (first.code_point == ' ' && other(second.type)) return symbols(pos + 1);
    return space(pos);
  }

 private:
  bool letter(CharClass t) const {
    return t == CharClass::kLetter || (rules_.marks_are_letters && t == CharClass::kMark);
  }
  bool other(CharClass t) const {
    return t == CharClass::kOther || (!rules_.marks_are_letters && t == CharClass::kMark);
  }
  size_t letters(size_t pos) const {
    return text_.run(pos, [this](CharClass t) { return letter(t); });
  }
  size_t digits(size_t pos) const {
    for (int n = 0; n < rules_.max_digits; ++n) {
      const Peek p = text_.at(pos);
      if (p.type != CharClass::kNumber) break;
      pos += p.length;
    }
    return pos;
  }
  size_t symbols(size_t pos) const {
    return text_.run(text_.run(pos, [this](CharClass t) { return other(t); }), is_newline);
  }
  // \s*[\r\n]+ takes the run of white space up to its last newline; without one the shared rule holds.
  size_t space(size_t pos) const {
    size_t newline = 0, end = pos;
    for (Peek p = text_.at(pos); is_space(p.type); p = text_.at(end)) {
      end += p.length;
      if (is_newline(p.type)) newline = end;
    }
    return newline != 0 ? newline : white_space(text_, pos);
  }

  Cursor text_;
  CasedRules rules_;
};

void append_gpt2(std::string_view text, size_t begin, size_t end, std::vector<size_t>& ends) {
  const Cursor cursor(text.substr(begin, end - begin));
  for (size_t pos = 0; pos < cursor.size();) {
    pos = next_gpt2(cursor, pos);
    ends.push_back(begin + pos);
  }
}

}  // namespace

void scan_gpt2(std::string_view text, std::vector<size_t>& ends) { append_gpt2(text, 0, text.size(), ends); }

void scan_digits_gpt2(std::string_view text, std::vector<size_t>& ends) {
  const Cursor cursor(text);
  for (size_t pos = 0; pos < text.size();) {
    const size_t digit = cursor.run(pos, [](CharClass t) { return t != CharClass::kNumber; });
    append_gpt2(text, pos, digit, ends);
    pos = digit + cursor.at(digit).length;
    if (pos != digit) ends.push_back(pos);
  }
}

void scan_cased(std::string_view text, const CasedRules& rules, std::vector<size_t>& ends) {
  const CasedScanner scanner(text, rules);
  for (size_t pos = 0; pos < text.size();) {
    pos = scanner.next(pos);
    ends.push_back(pos);
  }
}

}  // namespace toccata
