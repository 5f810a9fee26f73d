#include <algorithm>
#include <optional>

#include "text/chat_template/builtins.h"
#include "text/chat_template/fault.h"
#include "text/chat_template/format.h"
#include "text/chat_template/ops.h"
#include "text/chat_template/text_ops.h"
#include "text/chat_template/unicode.h"

namespace toccata::jinja {
namespace {

// [[fill]align][sign][#][0][width][grouping][.precision][type]
struct Spec {
  std::string fill = " ";
  char align = '\0';
  char sign = '-';
  bool alternate = false;
  Int width = 0;
  char grouping = '\0';
  Int precision = -1;
  char type = '\0';
};

bool is_align(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

std::optional<Int> read_digits(std::string_view text, size_t& pos) {
  const size_t begin = pos;
  Int out = 0;
  for (; pos < text.size() && text[pos] >= '0' && text[pos] <= '9'; ++pos) {
    out = out * 10 + (text[pos] - '0');
    if (out > INT32_MAX) raise("Too many decimal digits in format string");
  }
  return pos == begin ? std::nullopt : std::optional<Int>(out);
}

Spec parse_spec(std::string_view text) {
  Spec spec;
  size_t pos = 0;
  size_t after_fill = 0;
  if (!text.empty()) next_code_point(text, after_fill);
  const auto at = [&](size_t i) { return i < text.size() ? text[i] : '\0'; };
  if (after_fill > 0 && is_align(at(after_fill))) {
    spec.fill.assign(text.substr(0, after_fill));
    spec.align = text[after_fill];
    pos = after_fill + 1;
  } else if (is_align(at(0))) {
    spec.align = text[pos++];
  }
  if (at(pos) == '+' || at(pos) == '-' || at(pos) == ' ') spec.sign = text[pos++];
  if (at(pos) == 'z') refuse("the format option 'z'");
  if (at(pos) == '#') {
    spec.alternate = true;
    ++pos;
  }
  if (at(pos) == '0') {
    if (spec.align == '\0') {
      spec.fill.assign(1, '0');
      spec.align = '=';
    }
    ++pos;
  }
  spec.width = read_digits(text, pos).value_or(0);
  if (at(pos) == ',' || at(pos) == '_') spec.grouping = text[pos++];
  if (at(pos) == '.') {
    ++pos;
    const auto digits = read_digits(text, pos);
    if (!digits.has_value()) raise("Format specifier missing precision");
    spec.precision = *digits;
  }
  if (pos < text.size()) spec.type = text[pos++];
  if (pos < text.size()) raise(cat({"Invalid format specifier '", text, "'"}));
  return spec;
}

void group_digits(std::string& digits, const Spec& spec) {
  if (spec.grouping == '\0') return;
  if (spec.fill == "0" && spec.align == '=' && spec.width > 0) refuse("zero padding together with digit grouping");
  const size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  for (size_t at = whole; at > 3; at -= 3) digits.insert(at - 3, 1, spec.grouping);
}

[[noreturn]] void raise_unknown(const Spec& spec, const Value& value) {
  raise(cat({"Unknown format code '", std::string(1, spec.type), "' for object of type '", type_name(value), "'"}));
}

std::string format_string(Heap& heap, const Value& value, const Spec& spec) {
  if (spec.type != '\0' && spec.type != 's') raise_unknown(spec, value);
  if (spec.sign != '-' || spec.alternate || spec.grouping != '\0' || spec.align == '=') {
    if (spec.align == '=' && spec.fill == "0") refuse("zero padding of strings in format");
    raise("format option not allowed in string format specifier");
  }
  std::string_view text = value.text();
  if (spec.precision >= 0) text = text.substr(0, byte_offset(text, static_cast<size_t>(spec.precision)));
  return pad_number(heap, {"", std::string(text)}, spec.fill, spec.align == '\0' ? '<' : spec.align, spec.width);
}

std::string format_float(Heap& heap, const Value& value, Spec spec) {
  double number = as_double(value);
  NumberText text;
  const int precision = spec.precision < 0 ? 6 : static_cast<int>(std::min(spec.precision, Int{1001}));
  switch (spec.type) {
    case '\0':
      if (spec.precision >= 0) refuse("a float precision without a type in format");
      text = float_digits(number, 'f', 0, false, spec.sign);
      text.digits = float_text(number);
      if (text.digits[0] == '-') text.digits.erase(0, 1);
      break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      text = float_digits(number, spec.type, precision, spec.alternate, spec.sign);
      break;
    case '%':
      text = float_digits(number * 100, 'f', precision, spec.alternate, spec.sign);
      text.digits += '%';
      break;
    case 'n':
      refuse("the format type 'n'");
    default:
      raise_unknown(spec, value);
  }
  group_digits(text.digits, spec);
  return pad_number(heap, text, spec.fill, spec.align == '\0' ? '>' : spec.align, spec.width);
}

std::string format_int(Heap& heap, const Value& value, const Spec& spec) {
  const char type = spec.type == '\0' ? 'd' : spec.type;
  if (std::string_view("eEfFgG%").find(type) != std::string_view::npos) return format_float(heap, value, spec);
  if (type == 'c' || type == 'n') refuse(cat({"the format type '", std::string(1, type), "'"}));
  if (std::string_view("bdoxX").find(type) == std::string_view::npos) raise_unknown(spec, value);
  if (spec.precision >= 0) raise("Precision not allowed in integer format specifier");
  if (spec.grouping != '\0' && type != 'd') refuse("digit grouping of other bases in format");
  NumberText text = int_digits(value.integer(), type, spec.alternate, spec.sign);
  group_digits(text.digits, spec);
  return pad_number(heap, text, spec.fill, spec.align == '\0' ? '>' : spec.align, spec.width);
}

std::string format_value(Heap& heap, const Value& value, std::string_view spec_text) {
  if (spec_text.empty()) return to_str(heap, value).text();
  const Spec spec = parse_spec(spec_text);
  if (value.is_string()) return format_string(heap, value, spec);
  if (value.is_integral()) return format_int(heap, value, spec);
  if (value.is(Kind::kFloat)) return format_float(heap, value, spec);
  raise("unsupported format string passed to " + std::string(type_name(value)) + ".__format__");
}

class BraceFormat {
 public:
  BraceFormat(Heap& heap, std::string_view format, const Args& args) : heap_(heap), format_(format), args_(args) {}

  std::string run() {
    while (pos_ < format_.size()) {
      const char c = format_[pos_++];
      const bool doubled = pos_ < format_.size() && format_[pos_] == c;
      if (c != '{' && c != '}') {
        out_ += c;
      } else if (doubled) {
        out_ += c;
        ++pos_;
      } else if (c == '}') {
        raise("Single '}' encountered in format string");
      } else {
        replace_field();
      }
    }
    return std::move(out_);
  }

 private:
  void replace_field() {
    const size_t end = format_.find('}', pos_);
    if (end == std::string_view::npos) raise("expected '}' before end of string");
    const std::string_view field = format_.substr(pos_, end - pos_);
    if (field.find('{') != std::string_view::npos) refuse("nested fields in str.format");
    pos_ = end + 1;
    const size_t name_end = std::min(field.find_first_of("!:"), field.size());
    Value value = lookup(field.substr(0, name_end));
    std::string_view rest = field.substr(name_end);
    if (!rest.empty() && rest[0] == '!') {
      if (rest.size() < 2 || (rest.size() > 2 && rest[2] != ':')) raise("expected ':' after conversion specifier");
      if (rest[1] == 'a') refuse("the conversion !a");
      if (rest[1] != 's' && rest[1] != 'r') raise(cat({"Unknown conversion specifier '", rest.substr(1, 1), "'"}));
      value = rest[1] == 'r' ? heap_.str(repr(heap_, value)) : Value(to_str(heap_, value));
      rest = rest.substr(2);
    }
    const std::string text = format_value(heap_, value, rest.empty() ? rest : rest.substr(1));
    heap_.reserve(2 * out_.size() + text.size());
    out_ += text;
  }

  // arg_name ("." attribute | "[" index "]")*
  Value lookup(std::string_view name) {
    size_t pos = std::min(name.find_first_of(".["), name.size());
    Value value = argument(name.substr(0, pos));
    while (pos < name.size()) {
      const bool bracket = name[pos] == '[';
      const size_t begin = pos + 1;
      size_t end = std::min(bracket ? name.find(']', begin) : name.find_first_of(".[", begin), name.size());
      if (bracket && end == name.size()) raise("Missing ']' in format string");
      const std::string_view part = name.substr(begin, end - begin);
      if (part.empty()) raise("Empty attribute in format string");
      size_t digits = 0;
      const auto index = bracket ? read_digits(part, digits) : std::nullopt;
      if (!bracket) {
        value = get_attr(heap_, value, std::string(part));
      } else {
        value = get_item(heap_, value,
                         index.has_value() && digits == part.size() ? Value(*index) : heap_.str(std::string(part)));
      }
      if (bracket) ++end;
      if (bracket && end < name.size() && name[end] != '.' && name[end] != '[') {
        raise("Only '.' or '[' may follow ']' in format field specifier");
      }
      pos = end;
    }
    return value;
  }

  Value argument(std::string_view name) {
    size_t digits = 0;
    auto index = read_digits(name, digits);
    if (!name.empty() && (!index.has_value() || digits != name.size())) {
      for (const auto& [key, value] : args_.keyword) {
        if (key == name) return value;
      }
      raise(cat({"'", name, "'"}));
    }
    if ((name.empty() && numbering_ == 'm') || (!name.empty() && numbering_ == 'a')) {
      raise("cannot switch between manual and automatic field numbering");
    }
    numbering_ = name.empty() ? 'a' : 'm';
    const Int at = name.empty() ? static_cast<Int>(next_++) : *index;
    if (at >= static_cast<Int>(args_.positional.size())) {
      raise("Replacement index " + int_text(at) + " out of range for positional args tuple");
    }
    return args_.positional[static_cast<size_t>(at)];
  }

  Heap& heap_;
  const std::string_view format_;
  const Args& args_;
  size_t pos_ = 0;
  size_t next_ = 0;
  char numbering_ = '\0';
  std::string out_;
};

}  // namespace

Value format_braces(Heap& heap, std::string_view format, const Args& args) {
  return heap.str(BraceFormat(heap, format, args).run());
}

}  // namespace toccata::jinja
