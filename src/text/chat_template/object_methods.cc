// The methods of dicts, lists, tuples, ranges, numbers, loops and the helper objects of jinja2.
#include <algorithm>

#include "text/chat_template/builtins.h"
#include "text/chat_template/fault.h"
#include "text/chat_template/interpreter.h"
#include "text/chat_template/loop.h"
#include "text/chat_template/ops.h"

namespace toccata::jinja {
namespace {

template <View::Part part>
Value dict_view(Interpreter& in, const Value& self, Args& args) {
  expect_no_args("dict view", args);
  return in.heap().make<View>(self.as<Dict>(), part);
}

Value dict_get(Interpreter& in, const Value& self, Args& args) {
  const auto a = bind<2>("get", args, {"key", "default"}, 1, 2);
  const Value* found = self.as<Dict>()->find(in.heap(), a[0]);
  return found != nullptr ? *found : value_or(a[1], None{});
}

Value dict_copy(Interpreter&, const Value& self, Args& args) {
  expect_no_args("copy", args);
  return self;  // nothing can change a dict here, so a copy cannot be told from it
}

Value dict_fromkeys(Interpreter& in, const Value&, Args& args) { return dict_from_keys(in, args); }

const std::vector<Value>& items_of(const Value& self) {
  return self.is(Kind::kList) ? self.as<List>()->items : self.as<Tuple>()->items;
}

Value sequence_count(Interpreter& in, const Value& self, Args& args) {
  const auto a = bind<1>("count", args, {"value"}, 1, 1);
  int64_t count = 0;
  for (const Value& item : to_vector(in.heap(), self)) count += equal(in.heap(), item, a[0]) ? 1 : 0;
  return Value::integer(count);
}

Value sequence_index(Interpreter& in, const Value& self, Args& args) {
  const auto a = bind<3>("index", args, {"value", "start", "stop"}, 1, 3);
  const auto& items = items_of(self);
  const Int n = static_cast<Int>(items.size());
  const auto bound = [&](const Value& v, Int fallback) {
    const Int i = int_or(v, fallback);
    return std::clamp(i < 0 ? i + n : i, Int{0}, n);
  };
  for (Int i = bound(a[1], 0); i < bound(a[2], n); ++i) {
    if (equal(in.heap(), items[static_cast<size_t>(i)], a[0])) return Value(i);
  }
  raise(repr(in.heap(), a[0]) + " is not in list");
}

Value range_index(Interpreter& in, const Value& self, Args& args) {
  const auto a = bind<1>("index", args, {"value"}, 1, 1);
  const auto* range = self.as<Range>();
  if (!contains(in.heap(), self, a[0]) || !a[0].is_integral()) raise("the value is not in range");
  return Value((a[0].integer() - range->start) / range->step);
}

Value range_count(Interpreter& in, const Value& self, Args& args) {
  const auto a = bind<1>("count", args, {"value"}, 1, 1);
  return Value::integer(contains(in.heap(), self, a[0]) ? 1 : 0);
}

Value list_copy(Interpreter& in, const Value& self, Args& args) {
  expect_no_args("copy", args);
  return in.heap().list(self.as<List>()->items);
}

Value float_is_integer(Interpreter&, const Value& self, Args& args) {
  expect_no_args("is_integer", args);
  return Value(compare_numbers(self, arithmetic(BinaryOp::kFloorDiv, self, Value(1.0))) == Order::kEqual);
}

Value loop_cycle(Interpreter&, const Value& self, Args& args) {
  if (!args.keyword.empty()) raise("cycle() takes no keyword arguments");
  if (args.positional.empty()) raise("no items for cycling given");
  return args.positional[static_cast<size_t>(self.as<Loop>()->index0) % args.positional.size()];
}

Value loop_changed(Interpreter& in, const Value& self, Args& args) {
  if (!args.keyword.empty()) raise("changed() takes no keyword arguments");
  auto* loop = self.as<Loop>();
  const Value now = in.heap().tuple(args.positional);
  if (!loop->last_changed.is_missing() && equal(in.heap(), loop->last_changed, now)) return Value(false);
  loop->last_changed = now;
  return Value(true);
}

Value cycler_next(Interpreter&, const Value& self, Args& args) {
  expect_no_args("next", args);
  auto* cycler = self.as<Cycler>();
  const Value item = cycler->items[cycler->pos];
  cycler->pos = (cycler->pos + 1) % cycler->items.size();
  return item;
}

Value cycler_reset(Interpreter&, const Value& self, Args& args) {
  expect_no_args("reset", args);
  self.as<Cycler>()->pos = 0;
  return None{};
}

constexpr MethodEntry kDict[] = {
    {"copy", dict_copy},
    {"fromkeys", dict_fromkeys},
    {"get", dict_get},
    {"items", dict_view<View::Part::kItems>},
    {"keys", dict_view<View::Part::kKeys>},
    {"values", dict_view<View::Part::kValues>},
};
constexpr MethodEntry kList[] = {{"copy", list_copy}, {"count", sequence_count}, {"index", sequence_index}};
constexpr MethodEntry kTuple[] = {{"count", sequence_count}, {"index", sequence_index}};
constexpr MethodEntry kRange[] = {{"count", range_count}, {"index", range_index}};
constexpr MethodEntry kLoop[] = {{"changed", loop_changed}, {"cycle", loop_cycle}};
constexpr MethodEntry kCycler[] = {{"next", cycler_next}, {"reset", cycler_reset}};
constexpr MethodEntry kInt[] = {
    {"as_integer_ratio", nullptr}, {"bit_count", nullptr},  {"bit_length", nullptr},
    {"conjugate", nullptr},        {"from_bytes", nullptr}, {"to_bytes", nullptr},
};
constexpr MethodEntry kFloat[] = {
    {"as_integer_ratio", nullptr},    {"conjugate", nullptr}, {"fromhex", nullptr}, {"hex", nullptr},
    {"is_integer", float_is_integer},
};
constexpr MethodEntry kView[] = {{"isdisjoint", nullptr}, {"mapping", nullptr}};
constexpr MethodEntry kIterator[] = {{"close", nullptr}, {"send", nullptr}, {"throw", nullptr}};

template <size_t N>
const MethodEntry* find_in(const MethodEntry (&entries)[N], std::string_view name) {
  const auto* entry =
      std::find_if(std::begin(entries), std::end(entries), [&](const auto& e) { return e.name == name; });
  return entry == std::end(entries) ? nullptr : entry;
}

}  // namespace

const MethodEntry* find_object_method(Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::kDict:
      return find_in(kDict, name);
    case Kind::kList:
      return find_in(kList, name);
    case Kind::kTuple:
      return find_in(kTuple, name);
    case Kind::kRange:
      return find_in(kRange, name);
    case Kind::kLoop:
      return find_in(kLoop, name);
    case Kind::kCycler:
      return find_in(kCycler, name);
    case Kind::kBool:
    case Kind::kInt:
      return find_in(kInt, name);
    case Kind::kFloat:
      return find_in(kFloat, name);
    case Kind::kView:
      return find_in(kView, name);
    case Kind::kIterator:
      return find_in(kIterator, name);
    default:
      return nullptr;
  }
}

}  // namespace toccata::jinja
