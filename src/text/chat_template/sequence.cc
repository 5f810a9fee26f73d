// Iteration, len(), subscripts and slices.
#include <algorithm>

#include "base/utf8.h"
#include "text/chat_template/fault.h"
#include "text/chat_template/loop.h"
#include "text/chat_template/ops.h"
#include "text/chat_template/unicode.h"

namespace toccata::jinja {
namespace {

Iterator* new_iterator(Heap& heap, std::string_view type, Iterator::Next next) {
  return heap.iterator(type, std::move(next)).as<Iterator>();
}

// Iterates over anything that is indexed from 0 to count - 1.
template <class At>
Iterator* index_iterator(Heap& heap, std::string_view type, size_t count, At at) {
  return new_iterator(heap, type, [&heap, count, at, i = size_t{0}](Value& out) mutable {
    if (i == count) return false;
    heap.step();
    out = at(i++);
    return true;
  });
}

Value view_item(Heap& heap, const View& view, size_t i) {
  const auto& [key, value] = view.dict->entries[i];
  if (view.part == View::Part::kKeys) return key;
  if (view.part == View::Part::kValues) return value;
  return heap.tuple({key, value});
}

Value range_item(const Range& range, size_t i) { return Value(range.start + static_cast<Int>(i) * range.step); }

Iterator* string_iterator(Heap& heap, const Str& text) {
  return new_iterator(heap, "str_iterator", [&heap, text, pos = size_t{0}](Value& out) mutable {
    if (pos == text.text().size()) return false;
    const size_t begin = pos;
    next_code_point(text.text(), pos);
    out = heap.str(text.text().substr(begin, pos - begin));
    return true;
  });
}

bool hashable(const Value& value) {
  if (value.is(Kind::kList) || value.is(Kind::kDict)) return false;
  const auto* tuple = value.as<Tuple>();
  return tuple == nullptr || std::all_of(tuple->items.begin(), tuple->items.end(), hashable);
}

// Python's index: negative counts from the end; nothing when out of range.
std::optional<size_t> position(const Value& key, size_t length) {
  Int i = key.integer();
  if (i < 0) i += static_cast<Int>(length);
  if (i < 0 || i >= static_cast<Int>(length)) return std::nullopt;
  return static_cast<size_t>(i);
}

struct Span {
  Int start, stop, step;
  size_t length;
};

// PySlice_AdjustIndices.
Span adjust(const Value& start, const Value& stop, const Value& step, size_t length) {
  const Int n = static_cast<Int>(length);
  const Int by = step.is_none() ? 1 : as_index(step);
  if (by == 0) raise("slice step cannot be zero");
  const auto clamp = [&](const Value& v, Int fallback) {
    if (v.is_none()) return fallback;
    Int i = as_index(v);
    if (i < 0) i += n;
    return by > 0 ? std::clamp(i, Int{0}, n) : std::clamp(i, Int{-1}, n - 1);
  };
  const Int from = clamp(start, by > 0 ? 0 : n - 1);
  const Int to = clamp(stop, by > 0 ? n : -1);
  const Int distance = by > 0 ? to - from : from - to;
  if (distance <= 0) return {from, to, by, 0};
  auto stride = static_cast<unsigned __int128>(by);
  if (by < 0) stride = -stride;
  return {from, to, by, static_cast<size_t>(static_cast<unsigned __int128>(distance - 1) / stride) + 1};
}

template <class Item>
std::vector<Item> pick(const std::vector<Item>& items, const Span& span) {
  std::vector<Item> out;
  out.reserve(span.length);
  for (size_t i = 0; i < span.length; ++i) {
    out.push_back(items[static_cast<size_t>(span.start + static_cast<Int>(i) * span.step)]);
  }
  return out;
}

Value slice_string(Heap& heap, const Str& text, const Span& span) {
  heap.step_bytes(text.text().size());
  if (span.length == 0) return heap.str("", text.markup());
  if (span.step == 1) {
    const size_t begin =
        text.ascii() ? static_cast<size_t>(span.start) : byte_offset(text.text(), static_cast<size_t>(span.start));
    const std::string_view tail = std::string_view(text.text()).substr(begin);
    return heap.str(std::string(tail.substr(0, text.ascii() ? span.length : byte_offset(tail, span.length))),
                    text.markup());
  }
  heap.reserve(text.text().size() * 5);
  return heap.str(from_code_points(pick(to_code_points(text.text()), span)), text.markup());
}

Value slice_range(Heap& heap, const Range& range, const Span& span) {
  Int first = 0, last = 0, by = 0;
  if (__builtin_mul_overflow(span.start, range.step, &first) || __builtin_add_overflow(first, range.start, &first) ||
      __builtin_mul_overflow(span.stop, range.step, &last) || __builtin_add_overflow(last, range.start, &last) ||
      __builtin_mul_overflow(range.step, span.step, &by)) {
    refuse("integers of more than 127 bits");
  }
  return heap.make<Range>(first, last, by, span.length);
}

}  // namespace

std::optional<size_t> length_of(Heap& heap, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return 0;
    case Kind::kString:
      return value.str().length();
    case Kind::kList:
      return value.as<List>()->items.size();
    case Kind::kTuple:
      return value.as<Tuple>()->items.size();
    case Kind::kDict:
      return value.as<Dict>()->entries.size();
    case Kind::kView:
      return value.as<View>()->dict->entries.size();
    case Kind::kRange:
      return value.as<Range>()->length;
    case Kind::kLoop:
      return value.as<Loop>()->length(heap);
    default:
      return std::nullopt;
  }
}

bool is_iterable(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kView:
    case Kind::kRange:
    case Kind::kLoop:
    case Kind::kIterator:
      return true;
    default:
      return false;
  }
}

Iterator* iterate(Heap& heap, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return new_iterator(heap, "generator", [](Value&) { return false; });
    case Kind::kString:
      return string_iterator(heap, value.str());
    case Kind::kIterator:
      return value.as<Iterator>();
    case Kind::kLoop:
      refuse("iterating over the loop variable");
    case Kind::kList: {
      const auto& items = value.as<List>()->items;
      return index_iterator(heap, "list_iterator", items.size(), [&items](size_t i) { return items[i]; });
    }
    case Kind::kTuple: {
      const auto& items = value.as<Tuple>()->items;
      return index_iterator(heap, "tuple_iterator", items.size(), [&items](size_t i) { return items[i]; });
    }
    case Kind::kDict: {
      const auto& entries = value.as<Dict>()->entries;
      return index_iterator(heap, "dict_keyiterator", entries.size(),
                            [&entries](size_t i) { return entries[i].first; });
    }
    case Kind::kView: {
      const auto* view = value.as<View>();
      return index_iterator(heap, "dict_itemiterator", view->dict->entries.size(),
                            [&heap, view](size_t i) { return view_item(heap, *view, i); });
    }
    case Kind::kRange: {
      const auto* range = value.as<Range>();
      return index_iterator(heap, "range_iterator", range->length, [range](size_t i) { return range_item(*range, i); });
    }
    default:
      raise("'" + std::string(type_name(value)) + "' object is not iterable");
  }
}

Iterator* reversed(Heap& heap, const Value& value) {
  switch (value.kind()) {
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
    case Kind::kUndefined:
      break;
    case Kind::kDict:
    case Kind::kView:
      break;
    default:
      return nullptr;
  }
  // The items are fixed, so reading them forwards now is the same as reading them backwards later.
  auto items = std::make_shared<std::vector<Value>>(to_vector(heap, value));
  heap.charge(items->size() * sizeof(Value));
  return index_iterator(heap, "reversed", items->size(), [items](size_t i) { return (*items)[items->size() - 1 - i]; });
}

std::vector<Value> to_vector(Heap& heap, const Value& value) {
  if (const auto* list = value.as<List>()) {
    heap.step(list->items.size() / 16 + 1);
    return list->items;
  }
  Iterator* iterator = iterate(heap, value);
  std::vector<Value> out;
  Value item;
  while (iterator->next(item)) {
    heap.step();
    heap.reserve((out.size() + 1) * 2 * sizeof(Value));
    out.push_back(item);
  }
  return out;
}

std::optional<Value> subscript(Heap& heap, const Value& value, const Value& key) {
  check_defined(value);
  if (const auto* dict = value.as<Dict>()) {
    const Value* found = hashable(key) ? dict->find(heap, key) : nullptr;
    return found == nullptr ? std::nullopt : std::optional<Value>(*found);
  }
  if (!key.is_integral()) return std::nullopt;
  switch (value.kind()) {
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
      break;
    default:
      return std::nullopt;
  }
  const auto at = position(key, *length_of(heap, value));
  if (!at.has_value()) return std::nullopt;
  if (const auto* list = value.as<List>()) return list->items[*at];
  if (const auto* tuple = value.as<Tuple>()) return tuple->items[*at];
  if (const auto* range = value.as<Range>()) return range_item(*range, *at);
  return slice_string(heap, value.str(), {static_cast<Int>(*at), static_cast<Int>(*at) + 1, 1, 1});
}

Value slice(Heap& heap, const Value& value, const Value& start, const Value& stop, const Value& step) {
  check_defined(value);
  switch (value.kind()) {
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
      break;
    case Kind::kDict:
      raise("unhashable type: 'slice'");
    default:
      raise("'" + std::string(type_name(value)) + "' object is not subscriptable");
  }
  const Span span = adjust(start, stop, step, *length_of(heap, value));
  if (const auto* list = value.as<List>()) return heap.list(pick(list->items, span));
  if (const auto* tuple = value.as<Tuple>()) return heap.tuple(pick(tuple->items, span));
  if (value.is_string()) return slice_string(heap, value.str(), span);
  return slice_range(heap, *value.as<Range>(), span);
}

bool Loop::advance(Value& item) {
  if (!after_.is_missing()) {
    item = after_;
    after_ = Missing{};
  } else if (!iterator->next(item)) {
    return false;
  }
  ++index0;
  before = current;
  current = item;
  return true;
}

size_t Loop::length(Heap& heap) {
  if (length_.has_value()) return *length_;
  if (iterable.is(Kind::kIterator)) {
    auto rest = to_vector(heap, iterator);
    length_ = rest.size() + static_cast<size_t>(index0 + 1) + (after_.is_missing() ? 0 : 1);
    iterator = iterate(heap, heap.list(std::move(rest)));
  } else {
    length_ = length_of(heap, iterable);
  }
  return *length_;
}

bool Loop::peek(Value& item) {
  if (after_.is_missing() && !iterator->next(after_)) after_ = Missing{};
  item = after_;
  return !after_.is_missing();
}

}  // namespace toccata::jinja
