// The tests behind `is`.
#include "text/chat_template/builtins.h"
#include "text/chat_template/interpreter.h"
#include "text/chat_template/ops.h"
#include "text/chat_template/text_ops.h"

namespace toccata::jinja {
namespace {

// A test that looks only at the kind of the value.
template <bool (*Check)(const Value&)>
bool by_kind(Interpreter&, const Value& value, Args& args) {
  expect_no_args("this test", args);
  return Check(value);
}

bool is_defined(const Value& v) { return !v.is(Kind::kUndefined); }
bool is_undefined(const Value& v) { return v.is(Kind::kUndefined); }
bool is_none(const Value& v) { return v.is_none(); }
bool is_boolean(const Value& v) { return v.is(Kind::kBool); }
bool is_true(const Value& v) { return v.is(Kind::kBool) && v.boolean(); }
bool is_false(const Value& v) { return v.is(Kind::kBool) && !v.boolean(); }
bool is_integer(const Value& v) { return v.is(Kind::kInt); }
bool is_float(const Value& v) { return v.is(Kind::kFloat); }
bool is_number(const Value& v) { return v.is_number(); }
bool is_string(const Value& v) { return v.is_string(); }
bool is_mapping(const Value& v) { return v.is(Kind::kDict); }
bool is_escaped(const Value& v) { return v.is_string() && v.str().markup(); }

// Has a length and [].
bool is_sequence(const Value& v) {
  switch (v.kind()) {
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kRange:
    case Kind::kUndefined:
      return true;
    default:
      return false;
  }
}

bool is_callable(const Value& v) {
  switch (v.kind()) {
    case Kind::kFunction:
    case Kind::kMethod:
    case Kind::kMacro:
    case Kind::kLoop:
    case Kind::kJoiner:
    case Kind::kUndefined:
      return true;  // Undefined has __call__, which raises
    default:
      return false;
  }
}

template <CompareOp op>
bool by_comparison(Interpreter& in, const Value& value, Args& args) {
  const auto a = bind<1>("this test", args, {"other"}, 1, 1);
  return compare(in.heap(), op, value, a[0]);
}

bool remainder_is(Interpreter& in, const Value& value, const Value& divisor, int64_t rest) {
  return equal(in.heap(), binary(in.heap(), BinaryOp::kMod, value, divisor), Value::integer(rest));
}

bool is_odd(Interpreter& in, const Value& value, Args& args) {
  expect_no_args("odd", args);
  return remainder_is(in, value, Value::integer(2), 1);
}

bool is_even(Interpreter& in, const Value& value, Args& args) {
  expect_no_args("even", args);
  return remainder_is(in, value, Value::integer(2), 0);
}

bool is_divisible(Interpreter& in, const Value& value, Args& args) {
  const auto a = bind<1>("divisibleby", args, {"num"}, 1);
  return remainder_is(in, value, a[0], 0);
}

bool is_same(Interpreter&, const Value& value, Args& args) {
  const auto a = bind<1>("sameas", args, {"other"}, 1);
  return identical(value, a[0]);
}

bool is_in(Interpreter& in, const Value& value, Args& args) {
  const auto a = bind<1>("in", args, {"seq"}, 1);
  return contains(in.heap(), a[0], value);
}

bool is_lower_case(Interpreter& in, const Value& value, Args& args) {
  expect_no_args("lower", args);
  return has_case(to_str(in.heap(), value).text(), true);
}

bool is_upper_case(Interpreter& in, const Value& value, Args& args) {
  expect_no_args("upper", args);
  return has_case(to_str(in.heap(), value).text(), false);
}

bool is_filter(Interpreter& in, const Value& value, Args& args) {
  expect_no_args("filter", args);
  hash_of(in.heap(), value);
  return value.is_string() && find_filter(value.text()) != nullptr;
}

bool is_test(Interpreter& in, const Value& value, Args& args) {
  expect_no_args("test", args);
  hash_of(in.heap(), value);
  return value.is_string() && find_test(value.text()) != nullptr;
}

constexpr std::pair<std::string_view, TestBody> kTests[] = {
    {"!=", by_comparison<CompareOp::kNe>},
    {"<", by_comparison<CompareOp::kLt>},
    {"<=", by_comparison<CompareOp::kLe>},
    {"==", by_comparison<CompareOp::kEq>},
    {">", by_comparison<CompareOp::kGt>},
    {">=", by_comparison<CompareOp::kGe>},
    {"boolean", by_kind<is_boolean>},
    {"callable", by_kind<is_callable>},
    {"defined", by_kind<is_defined>},
    {"divisibleby", is_divisible},
    {"eq", by_comparison<CompareOp::kEq>},
    {"equalto", by_comparison<CompareOp::kEq>},
    {"escaped", by_kind<is_escaped>},
    {"even", is_even},
    {"false", by_kind<is_false>},
    {"filter", is_filter},
    {"float", by_kind<is_float>},
    {"ge", by_comparison<CompareOp::kGe>},
    {"greaterthan", by_comparison<CompareOp::kGt>},
    {"gt", by_comparison<CompareOp::kGt>},
    {"in", is_in},
    {"integer", by_kind<is_integer>},
    {"iterable", by_kind<is_iterable>},
    {"le", by_comparison<CompareOp::kLe>},
    {"lessthan", by_comparison<CompareOp::kLt>},
    {"lower", is_lower_case},
    {"lt", by_comparison<CompareOp::kLt>},
    {"mapping", by_kind<is_mapping>},
    {"ne", by_comparison<CompareOp::kNe>},
    {"none", by_kind<is_none>},
    {"number", by_kind<is_number>},
    {"odd", is_odd},
    {"sameas", is_same},
    {"sequence", by_kind<is_sequence>},
    {"string", by_kind<is_string>},
    {"test", is_test},
    {"true", by_kind<is_true>},
    {"undefined", by_kind<is_undefined>},
    {"upper", is_upper_case},
};

}  // namespace

TestBody find_test(std::string_view name) {
  for (const auto& [known, body] : kTests) {
    if (known == name) return body;
  }
  return nullptr;
}

}  // namespace toccata::jinja
