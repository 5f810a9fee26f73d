// Attributes of values, and how jinja2's ImmutableSandboxedEnvironment lets a template see them.
#include <algorithm>

#include "text/chat_template/activation.h"
#include "text/chat_template/builtins.h"
#include "text/chat_template/fault.h"
#include "text/chat_template/interpreter.h"
#include "text/chat_template/loop.h"
#include "text/chat_template/ops.h"

namespace toccata::jinja {
namespace {

bool is_dunder(std::string_view name) {
  return name.size() > 4 && name.substr(0, 2) == "__" && name.substr(name.size() - 2) == "__";
}

// The methods that change a list or dict exist, but the sandbox forbids them.
bool is_mutation(Kind kind, std::string_view name) {
  constexpr std::string_view kList[] = {"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"};
  constexpr std::string_view kDict[] = {"clear", "pop", "popitem", "setdefault", "update"};
  if (kind == Kind::kList) return std::find(std::begin(kList), std::end(kList), name) != std::end(kList);
  return kind == Kind::kDict && std::find(std::begin(kDict), std::end(kDict), name) != std::end(kDict);
}

Value loop_attribute(Heap& heap, Loop& loop, std::string_view name) {
  const auto number = [](long i) { return Value::integer(i); };
  Value item;
  if (name == "index") return number(loop.index0 + 1);
  if (name == "index0") return number(loop.index0);
  if (name == "first") return Value(loop.index0 == 0);
  if (name == "last") return Value(!loop.peek(item));
  if (name == "length") return number(static_cast<long>(loop.length(heap)));
  if (name == "revindex") return number(static_cast<long>(loop.length(heap)) - loop.index0);
  if (name == "revindex0") return number(static_cast<long>(loop.length(heap)) - loop.index0 - 1);
  if (name == "depth") return number(loop.depth0 + 1);
  if (name == "depth0") return number(loop.depth0);
  if (name == "previtem") return loop.index0 == 0 ? heap.undefined("there is no previous item") : loop.before;
  if (name == "nextitem") return loop.peek(item) ? item : heap.undefined("there is no next item");
  return Missing{};
}

Value macro_attribute(Heap& heap, const Macro& macro, std::string_view name) {
  if (name == "name") return macro.name;
  if (name == "catch_kwargs") return Value(macro.body->uses_kwargs);
  if (name == "catch_varargs") return Value(macro.body->uses_varargs);
  if (name == "caller") return Value(macro.body->uses_caller);
  if (name != "arguments") return Missing{};
  std::vector<Value> names;
  for (const auto& arg : macro.body->args) names.push_back(heap.str(arg->name));
  return heap.tuple(std::move(names));
}

Value number_attribute(const Value& number, std::string_view name) {
  const bool integral = number.is_integral();
  if (name == "real") return integral ? Value(number.integer()) : number;
  if (name == "imag") return integral ? Value::integer(0) : Value(0.0);
  if (integral && name == "numerator") return Value(number.integer());
  if (integral && name == "denominator") return Value::integer(1);
  return Missing{};
}

Value plain_attribute(Heap& heap, const Value& object, std::string_view name) {
  switch (object.kind()) {
    case Kind::kLoop:
      return loop_attribute(heap, *object.as<Loop>(), name);
    case Kind::kMacro:
      return macro_attribute(heap, *object.as<Macro>(), name);
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kFloat:
      return number_attribute(object, name);
    case Kind::kRange:
      if (name == "start") return Value(object.as<Range>()->start);
      if (name == "stop") return Value(object.as<Range>()->stop);
      if (name == "step") return Value(object.as<Range>()->step);
      return Missing{};
    case Kind::kTuple: {
      const auto* tuple = object.as<Tuple>();
      if (tuple->group && name == "grouper") return tuple->items[0];
      if (tuple->group && name == "list") return tuple->items[1];
      return Missing{};
    }
    case Kind::kNamespace: {
      const Value* found = object.as<Namespace>()->attributes->find(name);
      return found == nullptr ? Value(Missing{}) : *found;
    }
    case Kind::kCycler: {
      const auto* cycler = object.as<Cycler>();
      return name == "current" ? cycler->items[cycler->pos] : Value(Missing{});
    }
    case Kind::kFunction:
      return object.as<Function>()->name == "dict" && name == "fromkeys"
                 ? Value(heap.make<Function>("fromkeys", dict_from_keys))
                 : Value(Missing{});
    case Kind::kJoiner:
      if (name == "sep") return object.as<Joiner>()->separator;
      return name == "used" ? Value(object.as<Joiner>()->used) : Value(Missing{});
    default:
      return Missing{};
  }
}

Value unsafe(Heap& heap, const Value& object, const std::string& name) {
  return heap.undefined(cat({"access to attribute '", name, "' of '", type_name(object), "' object is unsafe."}));
}

// getattr(object, name) behind the sandbox; Missing where Python raises AttributeError.
Value attribute(Heap& heap, const Value& object, const std::string& name) {
  check_defined(object);
  if (!name.empty() && name[0] == '_') {
    // Every Python object has some of these; which ones does not matter unless a dict has a key of that name.
    if (!is_dunder(name) || object.is(Kind::kNamespace)) return Missing{};
    const auto* dict = object.as<Dict>();
    if (dict != nullptr && dict->find(name) != nullptr) refuse("the attribute '" + name + "'");
    return unsafe(heap, object, name);
  }
  if (is_mutation(object.kind(), name)) return unsafe(heap, object, name);
  const Value plain = plain_attribute(heap, object, name);
  if (!plain.is_missing()) return plain;
  const MethodEntry* entry = object.is_string() ? find_string_method(name) : find_object_method(object.kind(), name);
  if (entry == nullptr) return Missing{};
  return heap.make<Method>(object, entry);
}

Value missing_attribute(Heap& heap, const Value& object, const Value& key) {
  if (key.is_string()) {
    return heap.undefined(cat({"'", describe_type(object), "' has no attribute ", repr_string(key.text())}));
  }
  return heap.undefined(describe_type(object) + " has no element " + repr(heap, key));
}

}  // namespace

Value get_attr(Heap& heap, const Value& object, const std::string& name) {
  const Value found = attribute(heap, object, name);
  if (!found.is_missing()) return found;
  if (const auto* dict = object.as<Dict>()) {
    if (const Value* item = dict->find(name)) return *item;
  }
  return missing_attribute(heap, object, heap.str(name));
}

Value get_item(Heap& heap, const Value& object, const Value& key) {
  if (const auto item = subscript(heap, object, key)) return *item;
  if (key.is_string()) {
    const Value found = attribute(heap, object, key.text());
    if (!found.is_missing()) return found;
  }
  return missing_attribute(heap, object, key);
}

Value get_attr_only(Heap& heap, const Value& object, const std::string& name) {
  const Value found = attribute(heap, object, name);
  return found.is_missing() ? missing_attribute(heap, object, heap.str(name)) : found;
}

}  // namespace toccata::jinja
