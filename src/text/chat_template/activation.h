// One call of a template function: the template itself, a macro, a recursive loop or a loop's `if`. jinja2 compiles
// each to a Python function; an activation holds the local variables of one call and the link to the enclosing one.
#pragma once

#include <vector>

#include "text/chat_template/objects.h"

namespace toccata::jinja {

struct Activation : Object {
  static constexpr Kind kKind = Kind::kActivation;
  Activation(size_t slot_count, Activation* outer) : Object(kKind), slots(slot_count, Missing{}), parent(outer) {}
  std::vector<Value> slots;
  Activation* const parent;
};

struct MacroBody;

struct Macro : Object {
  static constexpr Kind kKind = Kind::kMacro;
  Macro(Value n, const MacroBody* b, Activation* outer)
      : Object(kKind), name(std::move(n)), body(b), definition(outer) {}
  const Value name;  // None for the body of a call block
  const MacroBody* const body;
  Activation* const definition;
};

}  // namespace toccata::jinja
