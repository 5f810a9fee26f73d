// What a template can call: filters, tests, methods and global functions, and how their arguments are bound.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/chat_template/ast.h"
#include "text/chat_template/heap.h"
#include "text/chat_template/objects.h"

namespace toccata::jinja {

struct Args {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keyword;
};

// Null when jinja2 has no filter or test of that name.
FilterBody find_filter(std::string_view name);
TestBody find_test(std::string_view name);

// The methods of a kind of value; null when Python has none of that name.
const MethodEntry* find_string_method(std::string_view name);
const MethodEntry* find_object_method(Kind kind, std::string_view name);

// A global function or class, or Missing.
Value find_global(Heap& heap, std::string_view name);

// obj.name and obj[key] as jinja2's sandbox resolves them: attributes and items stand in for each other, a missing one
// is Undefined, one that is not allowed an Undefined that says so when it is used.
Value get_attr(Heap& heap, const Value& object, const std::string& name);
Value get_item(Heap& heap, const Value& object, const Value& key);
// The Python attribute alone (for the attr filter): never an item.
Value get_attr_only(Heap& heap, const Value& object, const std::string& name);

// Fills `out` (all Missing) with the arguments of a function whose parameters are `names`; raises TypeError.
void bind_args(std::string_view function, Args& args, const std::string_view* names, size_t count, size_t required,
               size_t positional_only, Value* out);

template <size_t N>
std::array<Value, N> bind(std::string_view function, Args& args, const std::array<std::string_view, N>& names,
                          size_t required = 0, size_t positional_only = 0) {
  std::array<Value, N> out;
  out.fill(Value(Missing{}));
  bind_args(function, args, names.data(), N, required, positional_only, out.data());
  return out;
}

// For functions without parameters.
void expect_no_args(std::string_view function, const Args& args);

// An argument's value, or the default when it was not given.
inline Value value_or(const Value& given, Value fallback) { return given.is_missing() ? std::move(fallback) : given; }
bool flag_or(Heap& heap, const Value& given, bool fallback);  // by truth
Int int_or(const Value& given, Int fallback);                 // raises when it is no integer
// The text of a str argument; raises for anything else.
const std::string& text_of(const Value& value, std::string_view what);

// x.lower() for strings, anything else unchanged: how the sorting filters ignore case.
Value ignore_case(Heap& heap, const Value& value);
// Follows an attribute path of a filter argument ("a.b.0", an int, or None for the item itself).
Value follow_path(Heap& heap, Value item, const Value& path, const Value& fallback = Missing{});

// soft_str: a str (Markup stays Markup) of any value.
Value soft_str(Heap& heap, const Value& value);

}  // namespace toccata::jinja
