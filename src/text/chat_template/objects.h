// The kinds of objects: containers, iterators, functions and jinja2's helpers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/chat_template/value.h"

namespace toccata::jinja {

class Heap;
class Interpreter;
struct Args;

struct Undefined : Object {
  static constexpr Kind kKind = Kind::kUndefined;
  explicit Undefined(std::string m) : Object(kKind), message(std::move(m)) {}
  const std::string message;  // of the error when it is used
};

struct List : Object {
  static constexpr Kind kKind = Kind::kList;
  explicit List(std::vector<Value> v) : Object(kKind), items(std::move(v)) {}
  const std::vector<Value> items;
};

struct Tuple : Object {
  static constexpr Kind kKind = Kind::kTuple;
  explicit Tuple(std::vector<Value> v, bool is_group = false) : Object(kKind), items(std::move(v)), group(is_group) {}
  const std::vector<Value> items;
  const bool group;  // a pair of the groupby filter: has the attributes grouper and list
};

// Insertion-ordered, keys compared as Python does (1, 1.0 and True are one key). Filled while it is made, then fixed.
struct Dict : Object {
  static constexpr Kind kKind = Kind::kDict;
  Dict() : Object(kKind) {}
  std::vector<std::pair<Value, Value>> entries;

  void set(Heap& heap, const Value& key, Value value);  // raises when the key is not hashable
  const Value* find(Heap& heap, const Value& key) const;
  const Value* find(std::string_view key) const;

 private:
  long locate(Heap& heap, const Value& key, size_t hash) const;
  std::vector<size_t> hashes_;
  std::vector<std::vector<uint32_t>> buckets_;  // empty while the dict is small
};

struct Range : Object {
  static constexpr Kind kKind = Kind::kRange;
  Range(Int first, Int last, Int by, size_t n) : Object(kKind), start(first), stop(last), step(by), length(n) {}
  const Int start, stop, step;
  const size_t length;
};

// dict.keys(), .values() and .items()
struct View : Object {
  static constexpr Kind kKind = Kind::kView;
  enum class Part : uint8_t { kKeys, kValues, kItems };
  View(const Dict* d, Part p) : Object(kKind), dict(d), part(p) {}
  const Dict* const dict;
  const Part part;
};

struct Namespace : Object {
  static constexpr Kind kKind = Kind::kNamespace;
  explicit Namespace(Dict* d) : Object(kKind), attributes(d) {}
  Dict* attributes;
};

// A one-shot Python iterator or generator. `type` is Python's name of the type.
struct Iterator : Object {
  static constexpr Kind kKind = Kind::kIterator;
  using Next = std::function<bool(Value&)>;  // false when it is exhausted
  Iterator(std::string_view type_name, Next fn) : Object(kKind), type(type_name), next(std::move(fn)) {}
  const std::string_view type;
  const Next next;
};

using FunctionBody = Value (*)(Interpreter&, Args&);
struct Function : Object {
  static constexpr Kind kKind = Kind::kFunction;
  Function(std::string_view n, FunctionBody b) : Object(kKind), name(n), body(b) {}
  const std::string_view name;
  const FunctionBody body;
};

using MethodBody = Value (*)(Interpreter&, const Value&, Args&);
struct MethodEntry {
  std::string_view name;
  MethodBody body;  // null: exists in Python, refused here when called
};
struct Method : Object {
  static constexpr Kind kKind = Kind::kMethod;
  Method(Value v, const MethodEntry* e) : Object(kKind), self(std::move(v)), entry(e) {}
  const Value self;
  const MethodEntry* const entry;
};

struct Cycler : Object {
  static constexpr Kind kKind = Kind::kCycler;
  explicit Cycler(std::vector<Value> v) : Object(kKind), items(std::move(v)) {}
  const std::vector<Value> items;
  size_t pos = 0;
};

struct Joiner : Object {
  static constexpr Kind kKind = Kind::kJoiner;
  explicit Joiner(Value s) : Object(kKind), separator(std::move(s)) {}
  const Value separator;
  bool used = false;
};

}  // namespace toccata::jinja
