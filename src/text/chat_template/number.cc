#include "text/chat_template/number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "text/chat_template/fault.h"
#include "text/chat_template/unicode.h"

namespace toccata::jinja {
namespace {

constexpr double kTwo127 = 170141183460469231731687303715884105728.0;
constexpr Int kTwo53 = Int{1} << 53;

[[noreturn]] void refuse_big() { refuse("integers of more than 127 bits"); }

Int negate_int(Int a) {
  Int out = 0;
  if (__builtin_sub_overflow(Int{0}, a, &out)) refuse_big();
  return out;
}

Int magnitude(Int a) { return a < 0 ? negate_int(a) : a; }

// True division is correctly rounded in Python. Both sides below 2**53 after reduction give that with one hardware
// division; other quotients that are not whole are refused.
double divide_ints(Int a, Int b) {
  if (b == 0) raise("division by zero");
  if (a == 0) return b < 0 ? -0.0 : 0.0;
  Int x = magnitude(a);
  Int y = magnitude(b);
  while (y != 0) {
    const Int r = x % y;
    x = y;
    y = r;
  }
  const Int num = a / x;
  const Int den = b / x;
  if (den != 1 && den != -1 && (magnitude(num) >= kTwo53 || magnitude(den) >= kTwo53)) {
    refuse("the division of integers above 2**53");
  }
  return static_cast<double>(num) / static_cast<double>(den);
}

Int floor_divide(Int a, Int b) {
  if (b == 0) raise("integer division or modulo by zero");
  if (b == -1) return negate_int(a);
  const Int q = a / b;
  return a % b != 0 && ((a < 0) != (b < 0)) ? q - 1 : q;
}

Int floor_modulo(Int a, Int b) {
  if (b == 0) raise("integer division or modulo by zero");
  if (b == -1) return 0;
  const Int r = a % b;
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}

double power_floats(double a, double b) {
  if (a == 0.0 && b < 0) raise("0.0 cannot be raised to a negative power");
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b)) refuse("complex numbers");
  const double out = std::pow(a, b);
  if (std::isinf(out) && std::isfinite(a) && std::isfinite(b)) raise("(34, 'Numerical result out of range')");
  return out;
}

Value power_ints(Int a, Int b) {
  if (b < 0) return power_floats(static_cast<double>(a), static_cast<double>(b));
  if (a == 0 || a == 1) return Value(b == 0 ? Int{1} : a);
  if (a == -1) return Value(Int{b % 2 == 0 ? 1 : -1});
  Int out = 1;
  for (; b > 0; --b) {  // |a| >= 2, so at most 127 turns before the overflow
    if (__builtin_mul_overflow(out, a, &out)) refuse_big();
  }
  return Value(out);
}

Value int_arithmetic(BinaryOp op, Int a, Int b) {
  Int out = 0;
  bool overflow = false;
  switch (op) {
    case BinaryOp::kAdd:
      overflow = __builtin_add_overflow(a, b, &out);
      break;
    case BinaryOp::kSub:
      overflow = __builtin_sub_overflow(a, b, &out);
      break;
    case BinaryOp::kMul:
      overflow = __builtin_mul_overflow(a, b, &out);
      break;
    case BinaryOp::kDiv:
      return divide_ints(a, b);
    case BinaryOp::kFloorDiv:
      return Value(floor_divide(a, b));
    case BinaryOp::kMod:
      return Value(floor_modulo(a, b));
    case BinaryOp::kPow:
      return power_ints(a, b);
  }
  if (overflow) refuse_big();
  return Value(out);
}

double float_modulo(double a, double b) {
  if (b == 0.0) raise("float modulo");
  double mod = std::fmod(a, b);
  if (mod != 0.0) {
    if ((b < 0) != (mod < 0)) mod += b;
  } else {
    mod = std::copysign(0.0, b);
  }
  return mod;
}

// The algorithm of CPython's float_floor_div: exact remainder first, then the nearest whole quotient.
double float_floor_divide(double a, double b) {
  if (b == 0.0) raise("float divmod()");
  double mod = std::fmod(a, b);
  double div = (a - mod) / b;
  if (mod != 0.0 && ((b < 0) != (mod < 0))) div -= 1.0;
  if (div == 0.0) return std::copysign(0.0, a / b);
  const double floored = std::floor(div);
  return div - floored > 0.5 ? floored + 1.0 : floored;
}

double float_result(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kDiv:
      if (b == 0.0) raise("float division by zero");
      return a / b;
    case BinaryOp::kFloorDiv:
      return float_floor_divide(a, b);
    case BinaryOp::kMod:
      return float_modulo(a, b);
    case BinaryOp::kPow:
      return power_floats(a, b);
  }
  return 0.0;
}

// jinja2 folds constants into Python source, where an infinity becomes an unknown name.
Value float_arithmetic(BinaryOp op, double a, double b) {
  const double out = float_result(op, a, b);
  if (std::isinf(out) && std::isfinite(a) && std::isfinite(b)) refuse("results beyond the range of a float");
  return out;
}

// Digits of `text` in ASCII, single underscores between digits removed; false when misplaced.
bool clean_number(std::string_view text, std::string& out) {
  char previous = ' ';
  for (size_t pos = 0; pos < text.size();) {
    const uint32_t c = next_code_point(text, pos);
    const int digit = decimal_value(c);
    const char ascii = digit >= 0 ? static_cast<char>('0' + digit) : c < 0x80 ? static_cast<char>(c) : '?';
    if (ascii == '_') {
      size_t next = pos;
      const bool digit_follows = pos < text.size() && decimal_value(next_code_point(text, next)) >= 0;
      if (!(previous >= '0' && previous <= '9') || !digit_follows) return false;
    } else {
      out += ascii;
    }
    previous = ascii;
  }
  return true;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) { return to_lower(a) == b; }

// [digits][.digits][e[+-]digits] with at least one digit in front of the exponent.
bool is_decimal_float(std::string_view s) {
  size_t i = 0;
  size_t digits = 0;
  const auto eat_digits = [&] {
    const size_t begin = i;
    while (i < s.size() && s[i] >= '0' && s[i] <= '9') ++i;
    return i - begin;
  };
  digits += eat_digits();
  if (i < s.size() && s[i] == '.') {
    ++i;
    digits += eat_digits();
  }
  if (digits == 0) return false;
  if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
    ++i;
    if (i < s.size() && (s[i] == '+' || s[i] == '-')) ++i;
    if (eat_digits() == 0) return false;
  }
  return i == s.size();
}

// What an out-of-range decimal means: from_chars does not say whether it is too large or too small.
double overflow_or_zero(std::string_view s) {
  const size_t e = s.find_first_of("eE");
  const std::string_view mantissa = s.substr(0, e);
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  const size_t lead = mantissa.find_first_of("123456789");
  if (lead == std::string_view::npos) return 0.0;
  const bool negative_exponent = e != std::string_view::npos && e + 1 < s.size() && s[e + 1] == '-';
  if (e == std::string_view::npos) return lead < point ? std::numeric_limits<double>::infinity() : 0.0;
  return negative_exponent ? 0.0 : std::numeric_limits<double>::infinity();
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

int prefix_base(std::string_view s) {
  if (s.size() < 2 || s[0] != '0') return 0;
  switch (s[1]) {
    case 'x':
    case 'X':
      return 16;
    case 'o':
    case 'O':
      return 8;
    case 'b':
    case 'B':
      return 2;
    default:
      return 0;
  }
}

std::optional<Int> digits_to_int(std::string_view s, int base, bool negative) {
  Int out = 0;
  char previous = '_';
  for (char c : s) {
    if (c == '_') {
      if (previous == '_') return std::nullopt;
    } else {
      const int digit = digit_value(c);
      if (digit >= base) return std::nullopt;
      if (__builtin_mul_overflow(out, Int{base}, &out) || __builtin_add_overflow(out, Int{digit}, &out)) refuse_big();
    }
    previous = c;
  }
  if (previous == '_') return std::nullopt;
  return negative ? -out : out;
}

}  // namespace

std::string int_text(Int value, unsigned base) {
  if (value == 0) return "0";
  auto rest = static_cast<unsigned __int128>(value);
  if (value < 0) rest = -rest;
  std::string out;
  for (; rest != 0; rest /= base) out += "0123456789abcdefghijklmnopqrstuvwxyz"[static_cast<size_t>(rest % base)];
  if (value < 0) out += '-';
  std::reverse(out.begin(), out.end());
  return out;
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), text.data() + text.size(), exponent);
  std::string digits;
  for (char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  std::string out = std::signbit(value) ? "-" : "";
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (count > 1) out.append(1, '.').append(digits, 1);
    const std::string power = std::to_string(std::abs(exponent));
    return out + (exponent < 0 ? "e-" : "e+") + (power.size() < 2 ? "0" : "") + power;
  }
  if (exponent < 0) return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1) return out + digits + std::string(static_cast<size_t>(exponent + 1 - count), '0') + ".0";
  const auto whole = static_cast<size_t>(exponent + 1);
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::optional<Int> parse_int(std::string_view text, int base) {
  if (base != 0 && (base < 2 || base > 36)) raise("int() base must be >= 2 and <= 36, or 0");
  std::string ascii;
  text = strip(text);
  for (size_t pos = 0; pos < text.size();) {
    const uint32_t c = next_code_point(text, pos);
    const int digit = decimal_value(c);
    ascii += digit >= 0 ? static_cast<char>('0' + digit) : c < 0x80 ? static_cast<char>(c) : '?';
  }
  std::string_view s = ascii;
  const bool negative = !s.empty() && s[0] == '-';
  if (!s.empty() && (s[0] == '-' || s[0] == '+')) s.remove_prefix(1);
  const int prefix = prefix_base(s);
  if (prefix != 0 && (base == 0 || base == prefix)) {
    s.remove_prefix(2);
    if (!s.empty() && s[0] == '_') s.remove_prefix(1);
    base = prefix;
  } else if (base == 0) {
    if (s.size() > 1 && s[0] == '0' && s.find_first_not_of("0_") != std::string_view::npos) return std::nullopt;
    base = 10;
  }
  return digits_to_int(s, base, negative);
}

std::optional<double> parse_float(std::string_view text) {
  std::string cleaned;
  if (!clean_number(strip(text), cleaned)) return std::nullopt;
  std::string_view s = cleaned;
  const bool negative = !s.empty() && s[0] == '-';
  if (!s.empty() && (s[0] == '-' || s[0] == '+')) s.remove_prefix(1);
  double out = 0.0;
  if (equals_ignoring_case(s, "inf") || equals_ignoring_case(s, "infinity")) {
    out = std::numeric_limits<double>::infinity();
  } else if (equals_ignoring_case(s, "nan")) {
    out = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (!is_decimal_float(s)) return std::nullopt;
    const auto result = std::from_chars(s.data(), s.data() + s.size(), out);
    if (result.ec == std::errc::result_out_of_range) out = overflow_or_zero(s);
  }
  return negative ? -out : out;
}

double as_double(const Value& number) {
  return number.is(Kind::kFloat) ? number.floating() : static_cast<double>(number.integer());
}

Int truncate_to_int(double value) {
  if (std::isnan(value)) raise("cannot convert float NaN to integer");
  if (std::isinf(value)) raise("cannot convert float infinity to integer");
  if (std::fabs(value) >= kTwo127) refuse_big();
  return static_cast<Int>(value);
}

Value arithmetic(BinaryOp op, const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return int_arithmetic(op, a.integer(), b.integer());
  return float_arithmetic(op, as_double(a), as_double(b));
}

Value negated(const Value& number) {
  if (number.is(Kind::kFloat)) return -number.floating();
  return Value(negate_int(number.integer()));
}

Order compare_numbers(const Value& a, const Value& b) {
  const auto order = [](auto x, auto y) {
    return x < y ? Order::kLess : x > y ? Order::kGreater : x == y ? Order::kEqual : Order::kUnordered;
  };
  if (a.is_integral() && b.is_integral()) return order(a.integer(), b.integer());
  if (a.is(Kind::kFloat) && b.is(Kind::kFloat)) return order(a.floating(), b.floating());
  if (b.is_integral()) {
    const Order reversed = compare_numbers(b, a);
    return reversed == Order::kLess ? Order::kGreater : reversed == Order::kGreater ? Order::kLess : reversed;
  }
  const double d = b.floating();
  if (std::isnan(d)) return Order::kUnordered;
  if (d >= kTwo127) return Order::kLess;
  if (d < -kTwo127) return Order::kGreater;
  const Int whole = static_cast<Int>(d);  // towards zero, exact
  const Order first = order(a.integer(), whole);
  return first != Order::kEqual ? first : order(0.0, d - static_cast<double>(whole));
}

}  // namespace toccata::jinja
