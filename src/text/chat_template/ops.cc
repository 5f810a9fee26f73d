#include "text/chat_template/ops.h"

#include <algorithm>
#include <cmath>

#include "text/chat_template/fault.h"
#include "text/chat_template/format.h"

namespace toccata::jinja {
namespace {

const std::vector<Value>* sequence_items(const Value& value) {
  if (const auto* list = value.as<List>()) return &list->items;
  if (const auto* tuple = value.as<Tuple>()) return &tuple->items;
  return nullptr;
}

bool equal_items(Heap& heap, const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!equal(heap, a[i], b[i])) return false;
  }
  return true;
}

bool equal_dicts(Heap& heap, const Dict& a, const Dict& b) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    const Value* other = b.find(heap, key);
    if (other == nullptr || !equal(heap, value, *other)) return false;
  }
  return true;
}

bool equal_ranges(const Range& a, const Range& b) {
  if (a.length != b.length) return false;
  if (a.length == 0) return true;
  return a.start == b.start && (a.length == 1 || a.step == b.step);
}

bool equal_views(Heap& heap, const View& a, const View& b) {
  if (&a == &b) return true;
  if (a.part == View::Part::kValues || b.part == View::Part::kValues) return false;
  if (a.part != b.part) refuse("the comparison of dict_keys with dict_items");
  if (a.dict->entries.size() != b.dict->entries.size()) return false;
  for (const auto& [key, value] : a.dict->entries) {
    const Value* other = b.dict->find(heap, key);
    if (other == nullptr || (a.part == View::Part::kItems && !equal(heap, value, *other))) return false;
  }
  return true;
}

// Lexicographic: the first pair of items that differ decides.
bool less_items(Heap& heap, const std::vector<Value>& a, const std::vector<Value>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!equal(heap, a[i], b[i])) return less(heap, a[i], b[i]);
  }
  return a.size() < b.size();
}

[[noreturn]] void raise_unordered(std::string_view op, const Value& a, const Value& b) {
  check_defined(a);
  check_defined(b);
  if (a.is(Kind::kView) || b.is(Kind::kView)) refuse("the ordering of dict views");
  raise(cat({"'", op, "' not supported between instances of '", type_name(a), "' and '", type_name(b), "'"}));
}

size_t mix(size_t hash, size_t next) { return (hash ^ next) * 0x9E3779B97F4A7C15u + (hash >> 29); }

size_t hash_number(const Value& value) {
  if (value.is(Kind::kFloat)) {
    const double d = value.floating();
    if (std::floor(d) != d || std::fabs(d) > 1e38) return std::hash<double>{}(d);
    return hash_number(Value(static_cast<Int>(d)));
  }
  const Int i = value.integer();
  return mix(static_cast<size_t>(i), static_cast<size_t>(i >> 64));
}

bool range_contains(const Range& range, const Value& item) {
  if (!item.is_number()) return false;
  if (item.is(Kind::kFloat) && std::floor(item.floating()) != item.floating()) return false;
  if (item.is(Kind::kFloat) && std::fabs(item.floating()) > 1e18) return false;
  const Int value = item.is(Kind::kFloat) ? static_cast<Int>(item.floating()) : item.integer();
  Int offset = 0;
  if (__builtin_sub_overflow(value, range.start, &offset)) return false;
  return offset % range.step == 0 && offset / range.step >= 0 && offset / range.step < static_cast<Int>(range.length);
}

bool view_contains(Heap& heap, const View& view, const Value& item) {
  if (view.part == View::Part::kKeys) return view.dict->find(heap, item) != nullptr;
  if (view.part == View::Part::kItems) {
    const auto* pair = item.as<Tuple>();
    if (pair == nullptr || pair->items.size() != 2) return false;
    const Value* value = view.dict->find(heap, pair->items[0]);
    return value != nullptr && equal(heap, *value, pair->items[1]);
  }
  return std::any_of(view.dict->entries.begin(), view.dict->entries.end(),
                     [&](const auto& entry) { return equal(heap, entry.second, item); });
}

bool string_contains(Heap& heap, const Value& container, const Value& item) {
  if (!item.is_string()) {
    raise("'in <string>' requires string as left operand, not " + std::string(type_name(item)));
  }
  heap.step_bytes(container.text().size());
  return container.text().find(item.text()) != std::string::npos;
}

Value add_strings(Heap& heap, const Value& a, const Value& b) {
  const bool markup = a.str().markup() || b.str().markup();
  const auto part = [&](const Value& v) { return markup && !v.str().markup() ? escape_text(v.text()) : v.text(); };
  heap.reserve(a.text().size() + b.text().size());
  return heap.str(part(a) + part(b), markup);
}

Value add(Heap& heap, const Value& a, const Value& b) {
  if (a.is_string() && b.is_string()) return add_strings(heap, a, b);
  const auto join = [&](const std::vector<Value>& x, const std::vector<Value>& y) {
    heap.reserve((x.size() + y.size()) * sizeof(Value));
    std::vector<Value> out = x;
    out.insert(out.end(), y.begin(), y.end());
    return out;
  };
  if (const auto* x = a.as<List>(), *y = b.as<List>(); x != nullptr && y != nullptr) {
    return heap.list(join(x->items, y->items));
  }
  if (const auto* x = a.as<Tuple>(), *y = b.as<Tuple>(); x != nullptr && y != nullptr) {
    return heap.tuple(join(x->items, y->items));
  }
  check_defined(a);
  check_defined(b);
  if (a.is_string()) raise(cat({"can only concatenate str (not \"", type_name(b), "\") to str"}));
  raise(cat({"unsupported operand type(s) for +: '", type_name(a), "' and '", type_name(b), "'"}));
}

}  // namespace

void raise_undefined(const Value& value) { raise(value.as<Undefined>()->message); }

void check_defined(const Value& value) {
  if (value.is(Kind::kUndefined)) raise_undefined(value);
}

Int as_index(const Value& value) {
  check_defined(value);
  if (!value.is_integral()) raise(cat({"'", type_name(value), "' object cannot be interpreted as an integer"}));
  return value.integer();
}

std::string describe_type(const Value& value) {
  return value.is_none() ? "None" : std::string(type_name(value)) + " object";
}

bool truthy(Heap& heap, const Value& value) {
  switch (value.kind()) {
    case Kind::kNone:
    case Kind::kMissing:
    case Kind::kUndefined:
      return false;
    case Kind::kBool:
      return value.boolean();
    case Kind::kInt:
      return value.integer() != 0;
    case Kind::kFloat:
      return value.floating() != 0.0;
    default:
      return length_of(heap, value).value_or(1) != 0;
  }
}

bool equal(Heap& heap, const Value& a, const Value& b) {
  heap.step();
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == Order::kEqual;
  if (a.is_string() && b.is_string()) {
    if (a.text().size() != b.text().size()) return false;
    heap.step_bytes(a.text().size());
    return a.text() == b.text();
  }
  if (a.kind() != b.kind()) return false;
  heap.check_stack();
  switch (a.kind()) {
    case Kind::kNone:
    case Kind::kMissing:
    case Kind::kUndefined:
      return true;
    case Kind::kList:
    case Kind::kTuple:
      return equal_items(heap, *sequence_items(a), *sequence_items(b));
    case Kind::kDict:
      return equal_dicts(heap, *a.as<Dict>(), *b.as<Dict>());
    case Kind::kRange:
      return equal_ranges(*a.as<Range>(), *b.as<Range>());
    case Kind::kView:
      return equal_views(heap, *a.as<View>(), *b.as<View>());
    case Kind::kMethod:
      return a.as<Method>()->entry == b.as<Method>()->entry && identical(a.as<Method>()->self, b.as<Method>()->self);
    default:
      return a.object() == b.object();
  }
}

bool less(Heap& heap, const Value& a, const Value& b) {
  heap.step();
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == Order::kLess;
  if (a.is_string() && b.is_string()) {  // the order of UTF-8 bytes is the order of code points
    heap.step_bytes(std::min(a.text().size(), b.text().size()));
    return a.text() < b.text();
  }
  const auto *x = sequence_items(a), *y = sequence_items(b);
  if (x != nullptr && y != nullptr && a.kind() == b.kind()) {
    heap.check_stack();
    return less_items(heap, *x, *y);
  }
  raise_unordered("<", a, b);
}

bool compare(Heap& heap, CompareOp op, const Value& a, const Value& b) {
  if (op == CompareOp::kIn) return contains(heap, b, a);
  if (op == CompareOp::kNotIn) return !contains(heap, b, a);
  if (op == CompareOp::kEq) return equal(heap, a, b);
  if (op == CompareOp::kNe) return !equal(heap, a, b);
  if (a.is_number() && b.is_number()) {
    const Order order = compare_numbers(a, b);
    if (order == Order::kUnordered) return false;
    if (op == CompareOp::kLt) return order == Order::kLess;
    if (op == CompareOp::kGt) return order == Order::kGreater;
    return order == Order::kEqual || order == (op == CompareOp::kLe ? Order::kLess : Order::kGreater);
  }
  const bool reversed_sides = op == CompareOp::kGt || op == CompareOp::kGe;
  const Value& low = reversed_sides ? b : a;
  const Value& high = reversed_sides ? a : b;
  if (less(heap, low, high)) return true;
  return (op == CompareOp::kLe || op == CompareOp::kGe) && equal(heap, a, b);
}

bool contains(Heap& heap, const Value& container, const Value& item) {
  heap.step();
  if (container.is_string()) return string_contains(heap, container, item);
  if (const auto* items = sequence_items(container)) {
    return std::any_of(items->begin(), items->end(), [&](const Value& v) { return equal(heap, v, item); });
  }
  switch (container.kind()) {
    case Kind::kUndefined:
      return false;
    case Kind::kDict:
      return container.as<Dict>()->find(heap, item) != nullptr;
    case Kind::kRange:
      return range_contains(*container.as<Range>(), item);
    case Kind::kView:
      return view_contains(heap, *container.as<View>(), item);
    case Kind::kLoop:
      refuse("'in' on the loop variable");
    case Kind::kIterator: {
      Value next;
      while (container.as<Iterator>()->next(next)) {
        if (equal(heap, next, item)) return true;
      }
      return false;
    }
    default:
      raise(cat({"argument of type '", type_name(container), "' is not iterable"}));
  }
}

bool identical(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kNone:
      return true;
    case Kind::kBool:
      return a.boolean() == b.boolean();
    case Kind::kInt:
      // CPython keeps one object for each int from -5 to 256.
      if (a.integer() >= -5 && a.integer() <= 256 && b.integer() >= -5 && b.integer() <= 256) {
        return a.integer() == b.integer();
      }
      refuse("'sameas' on large integers");
    case Kind::kFloat:
      refuse("'sameas' on floats");
    case Kind::kString:
      if (a.str().identity() == b.str().identity()) return true;
      if (a.text() == b.text()) refuse("'sameas' on equal strings");
      return false;
    default:
      return a.object() == b.object();
  }
}

size_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

size_t hash_of(Heap& heap, const Value& value) {
  if (value.is_number()) return hash_number(value);
  if (value.is_string()) {
    heap.step_bytes(value.text().size());
    return hash_of(std::string_view(value.text()));
  }
  switch (value.kind()) {
    case Kind::kNone:
      return 17;
    case Kind::kUndefined:
      return 29;
    case Kind::kTuple: {
      heap.check_stack();
      size_t hash = 31;
      for (const Value& item : value.as<Tuple>()->items) hash = mix(hash, hash_of(heap, item));
      return hash;
    }
    case Kind::kRange:
      return value.as<Range>()->length + 37;
    case Kind::kList:
    case Kind::kDict:
      raise(cat({"unhashable type: '", type_name(value), "'"}));
    case Kind::kView:
    case Kind::kMethod:
      refuse("views and methods as keys");
    default:
      return std::hash<const void*>{}(value.object());
  }
}

Value repeated(Heap& heap, const Value& sequence, Int count) {
  const auto* items = sequence_items(sequence);
  const size_t unit = items != nullptr ? items->size() * sizeof(Value) : sequence.text().size();
  const size_t times = count <= 0 || unit == 0 ? 0
                       : count > Int{1} << 40  ? size_t{1} << 40
                                               : static_cast<size_t>(count);
  size_t total = 0;
  if (__builtin_mul_overflow(unit, times, &total)) total = SIZE_MAX / 2;
  heap.reserve(total);
  if (items == nullptr) {
    std::string out;
    out.reserve(total);
    for (size_t i = 0; i < times; ++i) out += sequence.text();
    return heap.str(std::move(out), sequence.str().markup());
  }
  std::vector<Value> out;
  out.reserve(items->size() * times);
  for (size_t i = 0; i < times; ++i) out.insert(out.end(), items->begin(), items->end());
  return sequence.is(Kind::kList) ? heap.list(std::move(out)) : heap.tuple(std::move(out));
}

Value binary(Heap& heap, BinaryOp op, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return arithmetic(op, a, b);
  if (op == BinaryOp::kAdd) return add(heap, a, b);
  if (op == BinaryOp::kMod && a.is_string()) return format_percent(heap, a, b);
  const auto repeatable = [](const Value& v) { return v.is_string() || v.is(Kind::kList) || v.is(Kind::kTuple); };
  if (op == BinaryOp::kMul && repeatable(a) && b.is_integral()) return repeated(heap, a, b.integer());
  if (op == BinaryOp::kMul && repeatable(b) && a.is_integral()) return repeated(heap, b, a.integer());
  check_defined(a);
  check_defined(b);
  if (op == BinaryOp::kSub && a.is(Kind::kView)) refuse("set operations on dict views");
  constexpr std::string_view kSigns[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};
  raise(cat({"unsupported operand type(s) for ", kSigns[static_cast<size_t>(op)], ": '", type_name(a), "' and '",
             type_name(b), "'"}));
}

Value unary(char op, const Value& value) {
  check_defined(value);
  if (!value.is_number()) {
    raise(cat({"bad operand type for unary ", std::string(1, op), ": '", type_name(value), "'"}));
  }
  if (op == '-') return negated(value);
  return value.is(Kind::kBool) ? Value(value.integer()) : value;
}

}  // namespace toccata::jinja
