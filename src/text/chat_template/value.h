// The values of a template: Python's None, bool, int, float, str and objects, plus jinja2's Undefined.
//
// Strings are immutable, shared and counted. All other objects belong to the Heap of one rendering and are freed with
// it, so reference cycles (a namespace that holds itself) and deep nesting need no care.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace toccata::jinja {

// Python's int, bounded: results beyond 127 bits are refused.
using Int = __int128;

enum class Kind : uint8_t {
  kNone,
  kMissing,
  kBool,
  kInt,
  kFloat,
  kString,
  // objects
  kUndefined,
  kList,
  kTuple,
  kDict,
  kRange,
  kView,
  kNamespace,
  kMacro,
  kFunction,
  kMethod,
  kLoop,
  kIterator,
  kCycler,
  kJoiner,
  kActivation,
};

struct Meter {
  size_t live = 0;  // bytes held by strings
};

// Immutable UTF-8 text. `markup` marks markupsafe's Markup, a str that escapes what is added to it.
class Str {
 public:
  explicit Str(std::string text, bool markup = false, Meter* meter = nullptr);
  const std::string& text() const { return data_->text; }
  size_t length() const { return data_->length; }  // in code points
  bool ascii() const { return data_->length == data_->text.size(); }
  bool markup() const { return data_->markup; }
  const void* identity() const { return data_.get(); }

 private:
  struct Data {
    std::string text;
    size_t length;
    bool markup;
    Meter* meter;
    Data(std::string t, bool m, Meter* counter);
    ~Data();
    Data(const Data&) = delete;
    Data& operator=(const Data&) = delete;
  };
  std::shared_ptr<const Data> data_;
};

struct Object {
  const Kind kind;
  explicit Object(Kind k) : kind(k) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
};

struct None {};
struct Missing {};  // an unbound variable or an argument that was not given; never visible to a template

class Value {
 public:
  Value() = default;  // None
  Value(None) {}
  Value(Missing m) : v_(m) {}
  Value(bool b) : v_(b) {}
  Value(Int i) : v_(i) {}
  Value(double d) : v_(d) {}
  Value(Str s) : v_(std::move(s)) {}
  Value(Object* object) : v_(object) {}
  static Value integer(int64_t i) { return Value(static_cast<Int>(i)); }

  Kind kind() const;
  bool is(Kind k) const { return kind() == k; }
  bool is_none() const { return std::holds_alternative<None>(v_); }
  bool is_missing() const { return std::holds_alternative<Missing>(v_); }
  bool is_string() const { return std::holds_alternative<Str>(v_); }
  bool is_number() const { return v_.index() >= 2 && v_.index() <= 4; }    // bool, int, float
  bool is_integral() const { return v_.index() == 2 || v_.index() == 3; }  // bool, int

  bool boolean() const { return std::get<bool>(v_); }
  Int integer() const { return std::holds_alternative<bool>(v_) ? Int{std::get<bool>(v_)} : std::get<Int>(v_); }
  double floating() const { return std::get<double>(v_); }
  const Str& str() const { return std::get<Str>(v_); }
  const std::string& text() const { return std::get<Str>(v_).text(); }
  Object* object() const { return std::get<Object*>(v_); }
  // The object as T, or null when the value is anything else.
  template <class T>
  T* as() const {
    const auto* object = std::get_if<Object*>(&v_);
    return object != nullptr && (*object)->kind == T::kKind ? static_cast<T*>(*object) : nullptr;
  }

 private:
  std::variant<None, Missing, bool, Int, double, Str, Object*> v_;
};

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

// Python's name of the type, as its error messages show it.
std::string_view type_name(const Value& value);

}  // namespace toccata::jinja
