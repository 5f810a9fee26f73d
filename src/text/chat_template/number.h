// Python's int and float: text forms, arithmetic and comparison.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "text/chat_template/objects.h"

namespace toccata::jinja {

enum class BinaryOp : uint8_t { kAdd, kSub, kMul, kDiv, kFloorDiv, kMod, kPow };

// Digits of `base` (2 to 36, lower case), with '-' in front when negative.
std::string int_text(Int value, unsigned base = 10);
// repr(float): the shortest digits that read back as the same double.
std::string float_text(double value);

// int(text, base) and float(text): nothing when Python raises ValueError. An int above 127 bits is refused.
std::optional<Int> parse_int(std::string_view text, int base);
std::optional<double> parse_float(std::string_view text);

// bool, int or float as a double.
double as_double(const Value& number);
// int(float): raises for infinities and NaN.
Int truncate_to_int(double value);

// The result for two numbers; raises on division by zero, refuses what needs more than 127 bits.
Value arithmetic(BinaryOp op, const Value& a, const Value& b);
Value negated(const Value& number);

enum class Order { kLess, kEqual, kGreater, kUnordered };
// Exact, also between an int and a float.
Order compare_numbers(const Value& a, const Value& b);

}  // namespace toccata::jinja
