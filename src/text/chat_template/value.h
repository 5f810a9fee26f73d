// The values of a template: Python's None, bool, int, float, str and objects, plus jinja2's Undefined.
//
// Strings are immutable, shared and counted. All other objects belong to the Heap of one rendering and are freed with
// it, so reference cycles (a namespace that holds itself) and deep nesting need no care.
#pragma once

#include <cstddef>
#include <cstdint>
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

// Python's name of the type, as its error messages show it.
std::string_view type_name(const Value& value);

}  // namespace toccata::jinja
