#include "text/chat_template/value.h"

#include "text/chat_template/heap.h"
#include "text/chat_template/ops.h"
#include "text/chat_template/unicode.h"

namespace toccata::jinja {
namespace {

constexpr size_t kStringOverhead = 96;  // control block, std::string and the small-size bookkeeping
constexpr size_t kSmallDict = 8;        // up to here a scan is as fast as an index

}  // namespace

Str::Data::Data(std::string t, bool m, Meter* counter)
    : text(std::move(t)), length(count_code_points(text)), markup(m), meter(counter) {
  if (meter != nullptr) meter->live += text.size() + kStringOverhead;
}

Str::Data::~Data() {
  if (meter != nullptr) meter->live -= text.size() + kStringOverhead;
}

Str::Str(std::string text, bool markup, Meter* meter)
    : data_(std::make_shared<const Data>(std::move(text), markup, meter)) {}

Kind Value::kind() const {
  constexpr Kind kPlain[] = {Kind::kNone, Kind::kMissing, Kind::kBool, Kind::kInt, Kind::kFloat, Kind::kString};
  return v_.index() < 6 ? kPlain[v_.index()] : std::get<Object*>(v_)->kind;
}

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::kNone:
      return "NoneType";
    case Kind::kMissing:
      return "missing";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return value.str().markup() ? "Markup" : "str";
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kRange:
      return "range";
    case Kind::kView: {
      constexpr std::string_view kNames[] = {"dict_keys", "dict_values", "dict_items"};
      return kNames[static_cast<size_t>(value.as<View>()->part)];
    }
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kMacro:
      return "Macro";
    case Kind::kFunction:
      return "function";
    case Kind::kMethod:
      return "method";
    case Kind::kLoop:
      return "LoopContext";
    case Kind::kIterator:
      return value.as<Iterator>()->type;
    case Kind::kCycler:
      return "Cycler";
    case Kind::kJoiner:
      return "Joiner";
    case Kind::kActivation:
      return "frame";
  }
  return "object";
}

long Dict::locate(Heap& heap, const Value& key, size_t hash) const {
  if (buckets_.empty()) {
    for (size_t i = 0; i < entries.size(); ++i) {
      if (hashes_[i] == hash && equal(heap, entries[i].first, key)) return static_cast<long>(i);
    }
    return -1;
  }
  for (uint32_t i : buckets_[hash % buckets_.size()]) {
    heap.step();
    if (hashes_[i] == hash && equal(heap, entries[i].first, key)) return i;
  }
  return -1;
}

void Dict::set(Heap& heap, const Value& key, Value value) {
  const size_t hash = hash_of(heap, key);
  const long at = locate(heap, key, hash);
  if (at >= 0) {
    entries[static_cast<size_t>(at)].second = std::move(value);
    return;
  }
  heap.charge(2 * sizeof(Value) + 32);
  entries.emplace_back(key, std::move(value));
  hashes_.push_back(hash);
  if (entries.size() <= kSmallDict) return;
  if (entries.size() > 2 * buckets_.size()) {
    buckets_.assign(2 * entries.size(), {});
    for (size_t i = 0; i < hashes_.size(); ++i) {
      buckets_[hashes_[i] % buckets_.size()].push_back(static_cast<uint32_t>(i));
    }
  } else {
    buckets_[hash % buckets_.size()].push_back(static_cast<uint32_t>(entries.size() - 1));
  }
}

const Value* Dict::find(Heap& heap, const Value& key) const {
  const long at = locate(heap, key, hash_of(heap, key));
  return at < 0 ? nullptr : &entries[static_cast<size_t>(at)].second;
}

const Value* Dict::find(std::string_view key) const {
  const size_t hash = hash_of(key);
  const auto matches = [&](size_t i) {
    return hashes_[i] == hash && entries[i].first.is_string() && entries[i].first.text() == key;
  };
  if (buckets_.empty()) {
    for (size_t i = 0; i < entries.size(); ++i) {
      if (matches(i)) return &entries[i].second;
    }
    return nullptr;
  }
  for (uint32_t i : buckets_[hash % buckets_.size()]) {
    if (matches(i)) return &entries[i].second;
  }
  return nullptr;
}

}  // namespace toccata::jinja
