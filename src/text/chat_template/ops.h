// Python's operators and protocols on template values: truth, ==, <, in, iteration, subscripts, +, *.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat_template/heap.h"
#include "text/chat_template/number.h"
#include "text/chat_template/objects.h"

namespace toccata::jinja {

enum class CompareOp : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kIn, kNotIn };

bool truthy(Heap& heap, const Value& value);
bool equal(Heap& heap, const Value& a, const Value& b);
bool less(Heap& heap, const Value& a, const Value& b);
bool compare(Heap& heap, CompareOp op, const Value& a, const Value& b);
bool contains(Heap& heap, const Value& container, const Value& item);
// `a is b`, refused where CPython's answer depends on how it stores equal values.
bool identical(const Value& a, const Value& b);
size_t hash_of(Heap& heap, const Value& value);  // raises for what Python cannot hash
size_t hash_of(std::string_view text);

Value binary(Heap& heap, BinaryOp op, const Value& a, const Value& b);
Value unary(char op, const Value& value);  // '-' or '+'

// len(value), or nothing where Python raises TypeError.
std::optional<size_t> length_of(Heap& heap, const Value& value);
// iter(value); raises when the value is not iterable.
Iterator* iterate(Heap& heap, const Value& value);
bool is_iterable(const Value& value);
std::vector<Value> to_vector(Heap& heap, const Value& value);
// reversed(value), or null where Python raises TypeError.
Iterator* reversed(Heap& heap, const Value& value);

// value[key] as Python does it; nothing where it raises TypeError or LookupError, raises on Undefined.
std::optional<Value> subscript(Heap& heap, const Value& value, const Value& key);
// value[start:stop:step]; None stands for a part that was left out.
Value slice(Heap& heap, const Value& value, const Value& start, const Value& stop, const Value& step);
Value repeated(Heap& heap, const Value& sequence, Int count);

// The value when it is an integer (or bool), for arguments; raises otherwise.
Int as_index(const Value& value);
[[noreturn]] void raise_undefined(const Value& value);
// Raises the error of an Undefined, if it is one.
void check_defined(const Value& value);

// str(value) and repr(value).
Str to_str(Heap& heap, const Value& value);
std::string repr(Heap& heap, const Value& value);
std::string repr_string(std::string_view text);

// markupsafe.escape: Markup of the value with & < > ' " replaced.
Value escape(Heap& heap, const Value& value);
std::string escape_text(std::string_view text);

// Python's names in error messages: "dict object", "None".
std::string describe_type(const Value& value);

}  // namespace toccata::jinja
