// The two ways Python formats text: "..." % values and "...".format(values).
#pragma once

#include <string>
#include <string_view>

#include "text/chat_template/heap.h"
#include "text/chat_template/objects.h"

namespace toccata::jinja {

// printf style; `values` is a tuple, a dict for %(name)s, or one value.
Value format_percent(Heap& heap, const Value& format, const Value& values);

// str.format. Width and precision taken from arguments ({:{w}}) are refused.
Value format_braces(Heap& heap, std::string_view format, const Args& args);

// A number's text in parts, for padding between sign and digits.
struct NumberText {
  std::string sign;  // "", "-", "+" or " ", and a prefix such as 0x
  std::string digits;
};

// `type` is e, f or g (E, F, G give upper case); precision as in C, at most 1000; `alternate` keeps a trailing point.
NumberText float_digits(double value, char type, int precision, bool alternate, char sign_mode);
// `type` is d, b, o, x or X.
NumberText int_digits(Int value, char type, bool alternate, char sign_mode);

// Fills up to `width` code points: align is '<', '>', '^' or '=' (between sign and digits).
std::string pad_number(const Heap& heap, const NumberText& number, std::string_view fill, char align, Int width);

}  // namespace toccata::jinja
