#include <cmath>
#include <cstdio>

#include "text/chat_template/fault.h"
#include "text/chat_template/format.h"
#include "text/chat_template/number.h"
#include "text/chat_template/text_ops.h"
#include "text/chat_template/unicode.h"

namespace toccata::jinja {
namespace {

std::string sign_text(bool negative, char sign_mode) {
  if (negative) return "-";
  return sign_mode == '+' || sign_mode == ' ' ? std::string(1, sign_mode) : "";
}

}  // namespace

NumberText float_digits(double value, char type, int precision, bool alternate, char sign_mode) {
  if (precision > 1000) refuse("more than 1000 digits of a float");
  const bool upper = type >= 'A' && type <= 'Z';
  NumberText out{sign_text(std::signbit(value) && !std::isnan(value), sign_mode), ""};
  if (!std::isfinite(value)) {
    out.digits = std::isnan(value) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf");
    return out;
  }
  const std::string format = std::string(alternate ? "%#.*" : "%.*") + type;
  char buffer[1400];  // 309 digits, a point and at most 1000 more
  const int length = std::snprintf(buffer, sizeof buffer, format.c_str(), precision, std::fabs(value));
  out.digits.assign(buffer, static_cast<size_t>(length));
  return out;
}

NumberText int_digits(Int value, char type, bool alternate, char sign_mode) {
  const unsigned base = type == 'b' ? 2 : type == 'o' ? 8 : type == 'd' ? 10 : 16;
  std::string digits = int_text(value, base);
  NumberText out{sign_text(value < 0, sign_mode), value < 0 ? digits.substr(1) : digits};
  if (type == 'X') out.digits = to_upper(out.digits);
  if (alternate && type != 'd') out.sign += std::string("0") + type;
  return out;
}

std::string pad_number(const Heap& heap, const NumberText& number, std::string_view fill, char align, Int width) {
  const std::string whole = number.sign + number.digits;
  const Int missing = width - static_cast<Int>(count_code_points(whole));
  if (missing <= 0) return whole;
  const size_t total = bounded_size(heap, missing, fill.size());
  const size_t left = align == '<' ? 0 : align == '^' ? total / 2 : total;
  const std::string before = repeat_text(fill, left);
  if (align == '=') return number.sign + before + number.digits;
  return before + whole + repeat_text(fill, total - left);
}

}  // namespace toccata::jinja
