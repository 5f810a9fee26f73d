#include <cmath>

#include "base/utf8.h"
#include "text/chat_template/fault.h"
#include "text/chat_template/format.h"
#include "text/chat_template/ops.h"
#include "text/chat_template/text_ops.h"
#include "text/chat_template/unicode.h"

namespace toccata::jinja {
namespace {

struct Spec {
  bool left = false, zero = false, alternate = false;
  char sign = '-';
  Int width = 0;
  Int precision = -1;
};

class PercentFormat {
 public:
  PercentFormat(Heap& heap, std::string_view format, const Value& values)
      : heap_(heap), format_(format), values_(values), tuple_(values.as<Tuple>()) {
    // Python's PyMapping_Check: what has [] and is neither tuple nor str may leave arguments unused.
    mapping_ =
        values.is(Kind::kDict) || values.is(Kind::kList) || values.is(Kind::kRange) || values.is(Kind::kUndefined);
  }

  std::string run() {
    while (pos_ < format_.size()) {
      const size_t percent = std::min(format_.find('%', pos_), format_.size());
      append(format_.substr(pos_, percent - pos_));
      pos_ = percent;
      if (pos_ < format_.size()) convert();
    }
    if (!mapping_ && used_ < (tuple_ != nullptr ? tuple_->items.size() : 1)) {
      raise("not all arguments converted during string formatting");
    }
    return std::move(out_);
  }

 private:
  void append(std::string_view text) {
    heap_.reserve(2 * out_.size() + text.size());
    out_ += text;
  }

  char next_char() {
    if (pos_ >= format_.size()) raise("incomplete format");
    return format_[pos_++];
  }

  Value next_value() {
    if (tuple_ == nullptr && used_ == 0) {
      ++used_;
      return values_;
    }
    if (tuple_ == nullptr || used_ >= tuple_->items.size()) raise("not enough arguments for format string");
    return tuple_->items[used_++];
  }

  void read_key() {
    const auto* dict = values_.as<Dict>();
    if (dict == nullptr) raise("format requires a mapping");
    const size_t begin = pos_;
    for (int open = 1; open > 0;) {
      const char c = next_char();
      open += c == '(' ? 1 : c == ')' ? -1 : 0;
    }
    const std::string_view key = format_.substr(begin, pos_ - 1 - begin);
    const Value* found = dict->find(key);
    if (found == nullptr) raise(repr_string(key));
    keyed_ = *found;
  }

  Int read_number(char& c) {
    if (c == '*') {
      const Value value = next_value();
      if (!value.is_integral()) raise("* wants int");
      c = next_char();
      return value.integer();
    }
    Int number = 0;
    for (; c >= '0' && c <= '9'; c = next_char()) {
      number = number * 10 + (c - '0');
      if (number > INT32_MAX) raise("width too big");
    }
    return number;
  }

  void convert() {
    ++pos_;
    Spec spec;
    keyed_ = Missing{};
    char c = next_char();
    if (c == '(') {
      read_key();
      c = next_char();
    }
    for (; c == '-' || c == '+' || c == ' ' || c == '#' || c == '0'; c = next_char()) {
      spec.left = spec.left || c == '-';
      spec.zero = spec.zero || c == '0';
      spec.alternate = spec.alternate || c == '#';
      if (c == '+' || (c == ' ' && spec.sign != '+')) spec.sign = c;
    }
    spec.width = read_number(c);
    if (spec.width < 0) {
      spec.left = true;
      spec.width = -spec.width;
    }
    if (c == '.') {
      c = next_char();
      spec.precision = std::max(read_number(c), Int{0});
    }
    if (c == 'h' || c == 'l' || c == 'L') c = next_char();
    if (c == '%') {
      append("%");
      return;
    }
    const Value value = keyed_.is_missing() ? next_value() : keyed_;
    append(converted(c, spec, value));
  }

  std::string converted(char type, const Spec& spec, const Value& value) {
    switch (type) {
      case 's':
        return text(spec, to_str(heap_, value).text());
      case 'r':
        return text(spec, repr(heap_, value));
      case 'c':
        return character(spec, value);
      case 'd':
      case 'i':
      case 'u':
        return integer(spec, 'd', decimal(value));
      case 'x':
      case 'X':
      case 'o':
        if (!value.is_integral())
          raise(cat({"%", std::string(1, type), " format: an integer is required, not ", type_name(value)}));
        return integer(spec, type, value.integer());
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        return floating(spec, type, value);
      case 'a':
        refuse("the format %a");
      default:
        raise(cat({"unsupported format character '", std::string(1, type), "'"}));
    }
  }

  static Int decimal(const Value& value) {
    if (value.is(Kind::kFloat)) return truncate_to_int(value.floating());
    check_defined(value);
    if (!value.is_integral()) {
      raise("%d format: a real number is required, not " + std::string(type_name(value)));
    }
    return value.integer();
  }

  std::string text(const Spec& spec, std::string_view s) const {
    if (spec.precision >= 0 && spec.precision < static_cast<Int>(s.size())) {
      s = s.substr(0, byte_offset(s, static_cast<size_t>(spec.precision)));
    }
    return pad_number(heap_, {"", std::string(s)}, " ", spec.left ? '<' : '>', spec.width);
  }

  std::string character(const Spec& spec, const Value& value) const {
    std::string s;
    if (value.is_string() && value.str().length() == 1) {
      s = value.text();
    } else if (value.is_integral() && value.integer() >= 0 && value.integer() < 0x110000) {
      const auto c = static_cast<uint32_t>(value.integer());
      if (c >= 0xD800 && c < 0xE000) refuse("surrogate code points in strings");
      utf8::append(s, c);
    } else {
      raise("%c requires int or char");
    }
    return pad_number(heap_, {"", s}, " ", spec.left ? '<' : '>', spec.width);
  }

  std::string padded(const Spec& spec, const NumberText& number) const {
    const bool zeros = spec.zero && !spec.left;
    return pad_number(heap_, number, zeros ? "0" : " ", spec.left ? '<' : zeros ? '=' : '>', spec.width);
  }

  std::string integer(const Spec& spec, char type, Int value) const {
    NumberText number = int_digits(value, type, spec.alternate, spec.sign);
    const Int missing = spec.precision - static_cast<Int>(number.digits.size());
    number.digits.insert(0, std::string(bounded_size(heap_, missing, 1), '0'));
    return padded(spec, number);
  }

  std::string floating(const Spec& spec, char type, const Value& value) const {
    check_defined(value);
    if (!value.is_number()) raise("must be real number, not " + std::string(type_name(value)));
    if (spec.precision > 1000) refuse("more than 1000 digits of a float");
    const int precision = spec.precision < 0 ? 6 : static_cast<int>(spec.precision);
    return padded(spec, float_digits(as_double(value), type, precision, spec.alternate, spec.sign));
  }

  Heap& heap_;
  const std::string_view format_;
  const Value values_;
  const Tuple* const tuple_;
  bool mapping_ = false;
  size_t pos_ = 0;
  size_t used_ = 0;
  Value keyed_ = Missing{};
  std::string out_;
};

}  // namespace

Value format_percent(Heap& heap, const Value& format, const Value& values) {
  if (format.str().markup()) refuse("the % operator on Markup");
  return heap.str(PercentFormat(heap, format.text(), values).run());
}

}  // namespace toccata::jinja
