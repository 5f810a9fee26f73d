// Filters on whole sequences and dicts.
#include <algorithm>
#include <cmath>

#include "text/chat_template/fault.h"
#include "text/chat_template/filters.h"
#include "text/chat_template/interpreter.h"
#include "text/chat_template/ops.h"
#include "text/chat_template/unicode.h"

namespace toccata::jinja {
namespace {

using Keyed = std::pair<Value, Value>;  // sort key, item

bool has_nan(const Value& key) {
  if (key.is(Kind::kFloat)) return std::isnan(key.floating());
  const auto* list = key.as<List>();
  return list != nullptr && std::any_of(list->items.begin(), list->items.end(), has_nan);
}

// Python's sorted(): stable, also when it is reversed.
void sort_keyed(Heap& heap, std::vector<Keyed>& items, bool reverse) {
  for (const Keyed& item : items) {
    if (has_nan(item.first)) refuse("sorting NaN");
  }
  std::vector<const Keyed*> order;
  for (const Keyed& item : items) order.push_back(&item);
  std::stable_sort(order.begin(), order.end(), [&](const Keyed* a, const Keyed* b) {
    return reverse ? less(heap, b->first, a->first) : less(heap, a->first, b->first);
  });
  std::vector<Keyed> sorted;
  for (const Keyed* item : order) sorted.push_back(*item);
  items = std::move(sorted);
}

Value unkeyed(Heap& heap, const std::vector<Keyed>& items) {
  std::vector<Value> out;
  for (const Keyed& item : items) out.push_back(item.second);
  return heap.list(std::move(out));
}

// The key that make_attrgetter gives.
Value key_of(Heap& heap, const Value& item, const Value& path, bool case_sensitive, const Value& fallback = Missing{}) {
  const Value key = follow_path(heap, item, path, fallback);
  return case_sensitive ? key : ignore_case(heap, key);
}

// The list of keys that make_multi_attrgetter gives for "a.b,c".
Value keys_of(Heap& heap, const Value& item, const Value& paths, bool case_sensitive) {
  std::vector<Value> keys;
  if (!paths.is_string()) return heap.list({key_of(heap, item, paths, case_sensitive)});
  const std::string& text = paths.text();
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    keys.push_back(key_of(heap, item, heap.str(text.substr(begin, end - begin)), case_sensitive));
    begin = end + 1;
  }
  return heap.list(std::move(keys));
}

Value filter_sort(Interpreter& in, const Value& value, Args& args) {
  Heap& heap = in.heap();
  const auto a = bind<3>("sort", args, {"reverse", "case_sensitive", "attribute"});
  const bool case_sensitive = flag_or(heap, a[1], false);
  const Value paths = value_or(a[2], None{});
  std::vector<Keyed> items;
  for (Value& item : to_vector(heap, value)) {
    Value keys = keys_of(heap, item, paths, case_sensitive);
    items.emplace_back(std::move(keys), std::move(item));
  }
  sort_keyed(heap, items, flag_or(heap, a[0], false));
  return unkeyed(heap, items);
}

Value filter_dictsort(Interpreter& in, const Value& value, Args& args) {
  Heap& heap = in.heap();
  const auto a = bind<3>("dictsort", args, {"case_sensitive", "by", "reverse"});
  const std::string by = a[1].is_string() ? a[1].text() : a[1].is_missing() ? "key" : "";
  if (by != "key" && by != "value") raise("You can only sort by either \"key\" or \"value\"");
  check_defined(value);
  const auto* dict = value.as<Dict>();
  if (dict == nullptr) raise(cat({"'", type_name(value), "' object has no attribute 'items'"}));
  const bool case_sensitive = flag_or(heap, a[0], false);
  std::vector<Keyed> items;
  for (const auto& [key, item] : dict->entries) {
    const Value& sort_by = by == "key" ? key : item;
    items.emplace_back(case_sensitive ? sort_by : ignore_case(heap, sort_by), heap.tuple({key, item}));
  }
  sort_keyed(heap, items, flag_or(heap, a[2], false));
  return unkeyed(heap, items);
}

Value filter_groupby(Interpreter& in, const Value& value, Args& args) {
  Heap& heap = in.heap();
  const auto a = bind<3>("groupby", args, {"attribute", "default", "case_sensitive"}, 1);
  const bool case_sensitive = flag_or(heap, a[2], false);
  std::vector<Keyed> items;
  for (Value& item : to_vector(heap, value)) {
    Value key = key_of(heap, item, a[0], case_sensitive, a[1]);
    items.emplace_back(std::move(key), std::move(item));
  }
  sort_keyed(heap, items, false);
  std::vector<Value> groups;
  for (size_t begin = 0; begin < items.size();) {
    size_t end = begin;
    std::vector<Value> members;
    while (end < items.size() && equal(heap, items[end].first, items[begin].first))
      members.push_back(items[end++].second);
    if (members.empty()) refuse("grouping by a value that is not equal to itself");
    const Value key = follow_path(heap, items[begin].second, a[0], a[1]);
    groups.push_back(heap.tuple({key, heap.list(std::move(members))}, true));
    begin = end;
  }
  return heap.list(std::move(groups));
}

Value filter_unique(Interpreter& in, const Value& value, Args& args) {
  Heap& heap = in.heap();
  const auto a = bind<2>("unique", args, {"case_sensitive", "attribute"});
  const bool case_sensitive = flag_or(heap, a[0], false);
  const Value path = value_or(a[1], None{});
  Dict* seen = heap.dict();
  return heap.iterator("generator", [&heap, value, case_sensitive, path, seen,
                                     items = static_cast<Iterator*>(nullptr)](Value& out) mutable {
    if (items == nullptr) items = iterate(heap, value);
    while (items->next(out)) {
      const Value key = key_of(heap, out, path, case_sensitive);
      if (seen->find(heap, key) != nullptr) continue;
      seen->set(heap, key, None{});
      return true;
    }
    return false;
  });
}

template <bool Max>
Value filter_extreme(Interpreter& in, const Value& value, Args& args) {
  Heap& heap = in.heap();
  const auto a = bind<2>(Max ? "max" : "min", args, {"case_sensitive", "attribute"});
  const bool case_sensitive = flag_or(heap, a[0], false);
  const Value path = value_or(a[1], None{});
  const auto items = to_vector(heap, value);
  if (items.empty()) return heap.undefined("No aggregated item, sequence was empty.");
  size_t best = 0;
  Value best_key = key_of(heap, items[0], path, case_sensitive);
  for (size_t i = 1; i < items.size(); ++i) {
    Value key = key_of(heap, items[i], path, case_sensitive);
    if (!(Max ? compare(heap, CompareOp::kGt, key, best_key) : less(heap, key, best_key))) continue;
    best = i;
    best_key = std::move(key);
  }
  return items[best];
}

Value filter_sum(Interpreter& in, const Value& value, Args& args) {
  Heap& heap = in.heap();
  const auto a = bind<2>("sum", args, {"attribute", "start"});
  const Value path = value_or(a[0], None{});
  Value total = value_or(a[1], Value::integer(0));
  if (total.is_string()) raise("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : to_vector(heap, value)) {
    total = binary(heap, BinaryOp::kAdd, total, follow_path(heap, item, path));
  }
  return total;
}

Value filter_join(Interpreter& in, const Value& value, Args& args) {
  Heap& heap = in.heap();
  const auto a = bind<2>("join", args, {"d", "attribute"});
  const Value path = value_or(a[1], None{});
  const Str separator = to_str(heap, value_or(a[0], heap.str("")));
  std::string out;
  bool first = true;
  for (const Value& item : to_vector(heap, value)) {
    const Str part = to_str(heap, follow_path(heap, item, path));
    heap.reserve(2 * out.size() + part.text().size() + separator.text().size());
    if (!first) out += separator.text();
    first = false;
    out += part.text();
  }
  return heap.str(std::move(out));
}

Value filter_first(Interpreter& in, const Value& value, Args& args) {
  expect_no_args("first", args);
  Value item;
  if (iterate(in.heap(), value)->next(item)) return item;
  return in.heap().undefined("No first item, sequence was empty.");
}

Value filter_last(Interpreter& in, const Value& value, Args& args) {
  expect_no_args("last", args);
  Iterator* items = reversed(in.heap(), value);
  if (items == nullptr) raise(cat({"'", type_name(value), "' object is not reversible"}));
  Value item;
  return items->next(item) ? item : in.heap().undefined("No last item, sequence was empty.");
}

Value filter_length(Interpreter& in, const Value& value, Args& args) {
  expect_no_args("len", args);
  const auto length = length_of(in.heap(), value);
  if (!length.has_value()) raise("object of type '" + std::string(type_name(value)) + "' has no len()");
  return Value::integer(static_cast<int64_t>(*length));
}

Value filter_list(Interpreter& in, const Value& value, Args& args) {
  expect_no_args("list", args);
  return in.heap().list(to_vector(in.heap(), value));
}

Value filter_reverse(Interpreter& in, const Value& value, Args& args) {
  Heap& heap = in.heap();
  expect_no_args("reverse", args);
  if (value.is_string()) return slice(heap, value, None{}, None{}, Value::integer(-1));
  if (Iterator* items = reversed(heap, value)) return items;
  if (!is_iterable(value)) raise("argument must be iterable");
  auto items = to_vector(heap, value);
  std::reverse(items.begin(), items.end());
  return heap.list(std::move(items));
}

Value filter_items(Interpreter& in, const Value& value, Args& args) {
  Heap& heap = in.heap();
  expect_no_args("items", args);
  return heap.iterator("generator", [&heap, value, items = static_cast<Iterator*>(nullptr)](Value& out) mutable {
    if (value.is(Kind::kUndefined)) return false;
    const auto* dict = value.as<Dict>();
    if (dict == nullptr) raise("Can only get item pairs from a mapping.");
    if (items == nullptr) items = iterate(heap, heap.make<View>(dict, View::Part::kItems));
    return items->next(out);
  });
}

Value filter_batch(Interpreter& in, const Value& value, Args& args) {
  Heap& heap = in.heap();
  const auto a = bind<2>("batch", args, {"linecount", "fill_with"}, 1);
  const Value fill = value_or(a[1], None{});
  struct State {
    Iterator* items = nullptr;
    Value pending = Missing{};
    bool first = true;
  };
  return heap.iterator("generator", [&heap, value, count = a[0], fill, state = State{}](Value& out) mutable {
    const Int width = as_index(count);
    if (state.items == nullptr) state.items = iterate(heap, value);
    std::vector<Value> row;
    if (!state.pending.is_missing()) row.push_back(state.pending);
    state.pending = Missing{};
    Value item;
    while (state.items->next(item)) {
      if (static_cast<Int>(row.size()) == width) {
        state.pending = item;
        out = heap.list(std::move(row));
        return true;
      }
      row.push_back(item);
    }
    if (row.empty()) return false;
    const Int missing = width - static_cast<Int>(row.size());
    if (!fill.is_none() && missing > 0) {
      heap.reserve(static_cast<size_t>(std::min(missing, Int{1} << 40)) * sizeof(Value));
      row.insert(row.end(), static_cast<size_t>(missing), fill);
    }
    out = heap.list(std::move(row));
    return true;
  });
}

Value filter_slice(Interpreter& in, const Value& value, Args& args) {
  Heap& heap = in.heap();
  const auto a = bind<2>("slice", args, {"slices", "fill_with"}, 1);
  const Value fill = value_or(a[1], None{});
  struct State {
    Value all = Missing{};
    Int number = 0;
  };
  return heap.iterator("generator", [&heap, value, slices = a[0], fill, state = State{}](Value& out) mutable {
    const Int count = as_index(slices);
    if (state.all.is_missing()) state.all = heap.list(to_vector(heap, value));
    if (count == 0) raise("integer division or modulo by zero");
    if (state.number >= count) return false;
    const auto& items = state.all.as<List>()->items;
    const Int each = static_cast<Int>(items.size()) / count;
    const Int longer = static_cast<Int>(items.size()) % count;  // the first so many slices have one more item
    const Int n = state.number++;
    const auto start = static_cast<long>(n * each + std::min(n, longer));
    const auto end = start + static_cast<long>(each + (n < longer ? 1 : 0));
    std::vector<Value> column(items.begin() + start, items.begin() + end);
    if (!fill.is_none() && n >= longer) column.push_back(fill);
    out = heap.list(std::move(column));
    return true;
  });
}

Value filter_random(Interpreter&, const Value&, Args&) { refuse("the filter 'random'"); }

constexpr FilterEntry kFilters[] = {
    {"batch", filter_batch},   {"count", filter_length},      {"dictsort", filter_dictsort},
    {"first", filter_first},   {"groupby", filter_groupby},   {"items", filter_items},
    {"join", filter_join},     {"last", filter_last},         {"length", filter_length},
    {"list", filter_list},     {"max", filter_extreme<true>}, {"min", filter_extreme<false>},
    {"random", filter_random}, {"reverse", filter_reverse},   {"slice", filter_slice},
    {"sort", filter_sort},     {"sum", filter_sum},           {"unique", filter_unique},
};

}  // namespace

FilterBody find_sequence_filter(std::string_view name) { return find_entry(kFilters, name); }

}  // namespace toccata::jinja
