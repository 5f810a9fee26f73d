// Filters on single values: numbers, defaults, attributes.
#include <algorithm>
#include <cmath>

#include "text/chat_template/fault.h"
#include "text/chat_template/filters.h"
#include "text/chat_template/format.h"
#include "text/chat_template/interpreter.h"
#include "text/chat_template/json_values.h"
#include "text/chat_template/ops.h"

namespace toccata::jinja {
namespace {

Value filter_abs(Interpreter&, const Value& value, Args& args) {
  expect_no_args("abs", args);
  check_defined(value);
  if (!value.is_number()) raise("bad operand type for abs(): '" + std::string(type_name(value)) + "'");
  if (value.is(Kind::kFloat)) return std::fabs(value.floating());
  return value.integer() < 0 ? negated(value) : Value(value.integer());
}

Value filter_attr(Interpreter& in, const Value& value, Args& args) {
  const auto a = bind<1>("attr", args, {"name"}, 1);
  return get_attr_only(in.heap(), value, text_of(a[0], "attribute name"));
}

Value filter_default(Interpreter& in, const Value& value, Args& args) {
  const auto a = bind<2>("default", args, {"default_value", "boolean"});
  const bool replace = value.is(Kind::kUndefined) || (flag_or(in.heap(), a[1], false) && !truthy(in.heap(), value));
  return replace ? value_or(a[0], in.heap().str("")) : value;
}

std::optional<double> to_float(const Value& value) {
  check_defined(value);
  if (value.is_number()) return as_double(value);
  return value.is_string() ? parse_float(value.text()) : std::nullopt;
}

Value filter_float(Interpreter&, const Value& value, Args& args) {
  const auto a = bind<1>("float", args, {"default"});
  const auto number = to_float(value);
  return number.has_value() ? Value(*number) : value_or(a[0], Value(0.0));
}

Value filter_int(Interpreter&, const Value& value, Args& args) {
  const auto a = bind<2>("int", args, {"default", "base"});
  check_defined(value);
  if (value.is_integral()) return Value(value.integer());
  if (value.is(Kind::kFloat) && !std::isnan(value.floating())) return Value(truncate_to_int(value.floating()));
  if (value.is_string()) {
    const Int base = int_or(a[1], 10);
    // A base that int() rejects is a ValueError like any other here, so the float is tried next.
    const bool valid = base == 0 || (base >= 2 && base <= 36);
    if (const auto number = valid ? parse_int(value.text(), static_cast<int>(base)) : std::nullopt) {
      return Value(*number);
    }
  }
  const auto number = to_float(value);
  if (!number.has_value() || !std::isfinite(*number)) return value_or(a[0], Value::integer(0));
  return Value(truncate_to_int(*number));
}

// round(int, precision): to a power of ten, ties to the even multiple.
Value round_int(Int value, Int precision) {
  if (precision >= 0) return Value(value);
  if (precision < -38) return Value::integer(0);
  const Int unit = arithmetic(BinaryOp::kPow, Value::integer(10), Value(-precision)).integer();
  const Int quotient = arithmetic(BinaryOp::kFloorDiv, Value(value), Value(unit)).integer();
  const Int rest = value - quotient * unit;
  const bool up = rest > unit - rest || (rest == unit - rest && quotient % 2 != 0);
  return arithmetic(BinaryOp::kMul, Value(quotient + (up ? 1 : 0)), Value(unit));
}

// round(float, precision) is correctly rounded on the exact decimal value, as printf's digits are.
Value round_float(double value, Int precision) {
  if (!std::isfinite(value) || precision > 323) return value;
  if (precision < 0) refuse("rounding a float to a negative precision");
  const NumberText digits = float_digits(value, 'f', static_cast<int>(precision), false, '-');
  return *parse_float(digits.sign + digits.digits);
}

Value filter_round(Interpreter&, const Value& value, Args& args) {
  const auto a = bind<2>("round", args, {"precision", "method"});
  const std::string method = a[1].is_missing() ? "common" : text_of(a[1], "method");
  if (method != "common" && method != "ceil" && method != "floor") raise("method must be common, ceil or floor");
  check_defined(value);
  if (!value.is_number()) raise("type " + std::string(type_name(value)) + " doesn't define __round__ method");
  if (method == "common") {
    const Int precision = int_or(a[0], 0);
    return value.is_integral() ? round_int(value.integer(), precision) : round_float(value.floating(), precision);
  }
  const Value scale = arithmetic(BinaryOp::kPow, Value::integer(10), value_or(a[0], Value::integer(0)));
  const Value scaled = arithmetic(BinaryOp::kMul, value, scale);
  Value whole = scaled;
  if (scaled.is(Kind::kFloat)) {
    const double d = scaled.floating();
    whole = Value(truncate_to_int(method == "ceil" ? std::ceil(d) : std::floor(d)));
  }
  return arithmetic(BinaryOp::kDiv, whole, scale);
}

// pprint sorts the keys of dicts; text that fits one line is all it changes.
Value sorted_for_pprint(Heap& heap, const Value& value) {
  heap.check_stack();
  const auto sort_items = [&](const std::vector<Value>& items) {
    std::vector<Value> out;
    for (const Value& item : items) out.push_back(sorted_for_pprint(heap, item));
    return out;
  };
  if (const auto* list = value.as<List>()) return heap.list(sort_items(list->items));
  if (const auto* tuple = value.as<Tuple>()) return heap.tuple(sort_items(tuple->items));
  const auto* dict = value.as<Dict>();
  if (dict == nullptr) return value;
  auto entries = dict->entries;
  for (const auto& [key, item] : entries) {
    if (!key.is_string()) refuse("pprint of dicts whose keys are no strings");
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const auto& a, const auto& b) { return a.first.text() < b.first.text(); });
  Dict* out = heap.dict();
  for (const auto& [key, item] : entries) out->set(heap, key, sorted_for_pprint(heap, item));
  return out;
}

Value filter_pprint(Interpreter& in, const Value& value, Args& args) {
  expect_no_args("pprint", args);
  Value text = in.heap().str(repr(in.heap(), sorted_for_pprint(in.heap(), value)));
  if (text.str().length() > 80) refuse("pprint of more than one line");
  return text;
}

constexpr FilterEntry kFilters[] = {
    {"abs", filter_abs},         {"attr", filter_attr},   {"d", filter_default},
    {"default", filter_default}, {"float", filter_float}, {"int", filter_int},
    {"pprint", filter_pprint},   {"round", filter_round}, {"tojson", filter_tojson},
};

}  // namespace

FilterBody find_value_filter(std::string_view name) { return find_entry(kFilters, name); }

}  // namespace toccata::jinja
