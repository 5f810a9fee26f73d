#include "text/chat_template/lexer.h"

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "text/chat_template/fault.h"
#include "text/chat_template/number.h"
#include "text/chat_template/string_literal.h"
#include "text/chat_template/unicode.h"

namespace toccata::jinja {
namespace {

std::string normalize_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_ascii_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : text_(normalize_newlines(source)), source_(text_) {}

  std::vector<Token> run() {
    try {
      while (pos_ < source_.size()) lex_root();
    } catch (Fault& fault) {
      if (fault.line == 0) fault.line = line_;
      throw;
    }
    push(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  bool at(std::string_view s, size_t pos) const { return source_.substr(std::min(pos, source_.size()), s.size()) == s; }
  char peek(size_t pos) const { return pos < source_.size() ? source_[pos] : '\0'; }

  size_t skip_space(size_t pos) const {
    return source_.size() - strip_left(source_.substr(std::min(pos, source_.size()))).size();
  }

  void push(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), {}, line_}); }

  // Moves to `end`, counting lines.
  void advance(size_t end) {
    line_ += static_cast<int>(
        std::count(source_.begin() + static_cast<long>(pos_), source_.begin() + static_cast<long>(end), '\n'));
    line_starting_ = end > pos_ && source_[end - 1] == '\n';
    pos_ = end;
  }

  // The end of "{% raw %}" when one begins at `pos`, else npos.
  size_t raw_begin(size_t pos) const {
    pos += 2;
    if (peek(pos) == '-' || peek(pos) == '+') ++pos;
    pos = skip_space(pos);
    if (!at("raw", pos)) return std::string_view::npos;
    pos = skip_space(pos + 3);
    if (at("%}", pos)) return pos + 2;
    return at("-%}", pos) ? skip_space(pos + 3) : std::string_view::npos;
  }

  // The end of the closing part of a comment or raw tag at `pos`: "+X", "-X\s*" or "X\n?"; npos when there is none.
  size_t tag_end(std::string_view closing, size_t pos) const {
    if (peek(pos) == '+' && at(closing, pos + 1)) return pos + 1 + closing.size();
    if (peek(pos) == '-' && at(closing, pos + 1)) return skip_space(pos + 1 + closing.size());
    if (!at(closing, pos)) return std::string_view::npos;
    pos += closing.size();
    return peek(pos) == '\n' ? pos + 1 : pos;
  }

  // Emits source[pos_, tag) as data, cut as the sign behind the tag's opening and lstrip_blocks demand.
  void emit_data(size_t tag, char sign, bool may_lstrip) {
    std::string_view data = source_.substr(pos_, tag - pos_);
    if (sign == '-') {
      data = strip_right(data);
    } else if (sign != '+' && may_lstrip) {
      const size_t line_start = data.rfind('\n') + 1;  // npos + 1 is 0
      if ((line_start > 0 || line_starting_) && strip_left(data.substr(line_start)).empty()) {
        data = data.substr(0, line_start);
      }
    }
    if (!data.empty()) push(TokenKind::kData, std::string(data));
  }

  void lex_root() {
    size_t tag = pos_;
    do {
      tag = source_.find('{', tag);
      if (tag == std::string_view::npos) {
        push(TokenKind::kData, std::string(source_.substr(pos_)));
        advance(source_.size());
        return;
      }
      ++tag;
    } while (peek(tag) != '%' && peek(tag) != '{' && peek(tag) != '#');
    --tag;
    const char type = source_[tag + 1];
    const char sign = peek(tag + 2) == '-' || peek(tag + 2) == '+' ? source_[tag + 2] : '\0';
    emit_data(tag, sign, type != '{');
    const size_t raw = type == '%' ? raw_begin(tag) : std::string_view::npos;
    if (raw != std::string_view::npos) {
      advance(raw);
      lex_raw();
      return;
    }
    advance(tag + 2 + (sign != '\0' ? 1 : 0));
    if (type == '#') {
      lex_comment();
    } else {
      push(type == '%' ? TokenKind::kBlockBegin : TokenKind::kVariableBegin, "");
      lex_code(type == '%');
    }
  }

  void lex_raw() {
    for (size_t tag = source_.find("{%", pos_); tag != std::string_view::npos; tag = source_.find("{%", tag + 1)) {
      size_t pos = tag + 2;
      const char sign = peek(pos) == '-' || peek(pos) == '+' ? source_[pos] : '\0';
      pos = skip_space(pos + (sign != '\0' ? 1 : 0));
      if (!at("endraw", pos)) continue;
      const size_t end = tag_end("%}", skip_space(pos + 6));
      if (end == std::string_view::npos) continue;
      emit_data(tag, sign, true);
      advance(end);
      return;
    }
    if (pos_ < source_.size()) raise("Missing end of raw directive");  // jinja2 accepts one that is the very end
  }

  void lex_comment() {
    const size_t close = source_.find("#}", pos_);
    if (close == std::string_view::npos) {
      if (pos_ < source_.size()) raise("Missing end of comment tag");
      return;
    }
    const bool has_sign = close > pos_ && (source_[close - 1] == '-' || source_[close - 1] == '+');
    advance(tag_end("#}", has_sign ? close - 1 : close));
  }

  // The end of the tag at the present position, or npos.
  size_t code_end(bool block) const {
    if (!open_.empty()) return std::string_view::npos;
    if (block) return tag_end("%}", pos_);
    if (at("-}}", pos_)) return skip_space(pos_ + 3);
    return at("}}", pos_) ? pos_ + 2 : std::string_view::npos;
  }

  void lex_code(bool block) {
    while (pos_ < source_.size()) {
      const size_t end = code_end(block);
      if (end != std::string_view::npos) {
        push(block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd, "");
        advance(end);
        return;
      }
      const size_t space = skip_space(pos_);
      if (space > pos_) {
        advance(space);
      } else {
        lex_token();
      }
    }
  }

  void lex_token() {
    const char c = source_[pos_];
    if (is_ascii_digit(c) && lex_number()) return;
    if (is_word(c) || static_cast<unsigned char>(c) >= 0x80) {
      lex_name();
    } else if (c == '\'' || c == '"') {
      lex_string(c);
    } else {
      lex_operator();
    }
  }

  // Digits with single underscores between them, from `pos`; returns the end.
  template <class IsDigit>
  size_t eat_digits(size_t pos, IsDigit is_digit_char) const {
    while (is_digit_char(peek(pos)) || (peek(pos) == '_' && is_digit_char(peek(pos + 1)))) ++pos;
    return pos;
  }

  size_t float_end() const {
    if (pos_ > 0 && source_[pos_ - 1] == '.') return std::string_view::npos;
    size_t end = eat_digits(pos_, is_ascii_digit);
    bool is_float = false;
    if (peek(end) == '.' && is_ascii_digit(peek(end + 1))) {
      end = eat_digits(end + 1, is_ascii_digit);
      is_float = true;
    }
    if (peek(end) == 'e' || peek(end) == 'E') {
      const size_t digits = end + (peek(end + 1) == '+' || peek(end + 1) == '-' ? 2 : 1);
      if (is_ascii_digit(peek(digits))) {
        end = eat_digits(digits, is_ascii_digit);
        is_float = true;
      }
    }
    return is_float ? end : std::string_view::npos;
  }

  size_t integer_end() const {
    const auto digits_below = [](int base) {
      return [base](char c) {
        const int value = is_ascii_digit(c) ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : 99;
        return value < base;
      };
    };
    const char kind = static_cast<char>(peek(pos_ + 1) | 32);
    if (source_[pos_] == '0' && (kind == 'x' || kind == 'o' || kind == 'b')) {
      const auto is_digit_char = digits_below(kind == 'x' ? 16 : kind == 'o' ? 8 : 2);
      const size_t end = eat_digits(pos_ + 2, is_digit_char);
      if (end > pos_ + 2) return end;
    }
    if (source_[pos_] == '0') return eat_digits(pos_, [](char c) { return c == '0'; });
    return eat_digits(pos_, is_ascii_digit);
  }

  bool lex_number() {
    size_t end = float_end();
    const bool is_float = end != std::string_view::npos;
    if (!is_float) end = integer_end();
    std::string digits(source_.substr(pos_, end - pos_));
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    push(is_float ? TokenKind::kFloat : TokenKind::kInteger, digits);
    if (is_float) {
      tokens_.back().number = *parse_float(digits);
      if (std::isinf(tokens_.back().number.floating())) refuse("the infinite number " + digits);
    } else {
      tokens_.back().number = *parse_int(digits, 0);
    }
    advance(end);
    return true;
  }

  void lex_name() {
    size_t end = pos_;
    while (end < source_.size() && (is_word(source_[end]) || static_cast<unsigned char>(source_[end]) >= 0x80)) {
      size_t next = end;
      const uint32_t c = next_code_point(source_, next);
      if (c >= 0x80 && !is_id_continue(c)) break;
      end = next;
    }
    const std::string name(source_.substr(pos_, end - pos_));
    if (name.empty()) unexpected_character();
    if (std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
      refuse("the name '" + name + "' (only ASCII letters, digits and _ are read as names)");
    }
    push(TokenKind::kName, name);
    advance(end);
  }

  void lex_string(char quote) {
    size_t end = pos_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) unexpected_character();
    push(TokenKind::kString, decode_string_literal(source_.substr(pos_ + 1, end - pos_ - 1)));
    advance(end + 1);
  }

  [[noreturn]] void unexpected_character() const {
    size_t pos = pos_;
    next_code_point(source_, pos);
    raise("unexpected char '" + std::string(source_.substr(pos_, pos - pos_)) + "'");
  }

  void balance(char c) {
    if (c == '(' || c == '[' || c == '{') open_ += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c != ')' && c != ']' && c != '}') return;
    if (open_.empty()) raise("unexpected '" + std::string(1, c) + "'");
    if (open_.back() != c) raise("unexpected '" + std::string(1, c) + "', expected '" + open_.back() + "'");
    open_.pop_back();
  }

  void lex_operator() {
    constexpr std::string_view kLong[] = {"//", "**", "==", "!=", ">=", "<="};
    const std::string_view two = source_.substr(pos_, 2);
    if (std::find(std::begin(kLong), std::end(kLong), two) != std::end(kLong)) {
      push(TokenKind::kOperator, std::string(two));
      advance(pos_ + 2);
      return;
    }
    const char c = source_[pos_];
    if (std::string_view("+-/*%~[](){}<>=.:|,;").find(c) == std::string_view::npos) unexpected_character();
    balance(c);
    push(TokenKind::kOperator, std::string(1, c));
    advance(pos_ + 1);
  }

  const std::string text_;
  const std::string_view source_;
  std::vector<Token> tokens_;
  std::string open_;  // closing brackets that are still to come
  size_t pos_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  if (!utf8::is_valid(source)) raise("the template is not valid UTF-8");
  return Lexer(source).run();
}

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kData:
      return "template data / text";
    case TokenKind::kVariableBegin:
      return "begin of print statement";
    case TokenKind::kVariableEnd:
      return "end of print statement";
    case TokenKind::kBlockBegin:
      return "begin of statement block";
    case TokenKind::kBlockEnd:
      return "end of statement block";
    case TokenKind::kName:
    case TokenKind::kOperator:
      return token.text;
    case TokenKind::kString:
      return "string";
    case TokenKind::kInteger:
      return "integer";
    case TokenKind::kFloat:
      return "float";
    case TokenKind::kEnd:
      return "end of template";
  }
  return "";
}

}  // namespace toccata::jinja
