// The `loop` variable (jinja2's LoopContext).
#pragma once

#include <optional>

#include "text/chat_template/heap.h"
#include "text/chat_template/objects.h"

namespace toccata::jinja {

struct ForNode;
struct Activation;

struct Loop : Object {
  static constexpr Kind kKind = Kind::kLoop;
  Loop(Value source, Iterator* items, int level)
      : Object(kKind), iterable(std::move(source)), iterator(items), depth0(level) {}

  bool advance(Value& item);  // the next turn; false at the end
  // The length of the iterable; reads a generator to its end, as jinja2 does.
  size_t length(Heap& heap);
  bool peek(Value& item);  // the item of the next turn, if there is one

  const Value iterable;
  Iterator* iterator;
  long index0 = -1;
  const int depth0;
  Value current = Missing{}, before = Missing{};
  Value last_changed = Missing{};
  // Set for a loop marked `recursive`: what loop(items) renders again.
  const ForNode* recursive = nullptr;
  Activation* definition = nullptr;

 private:
  std::optional<size_t> length_;
  Value after_ = Missing{};
};

}  // namespace toccata::jinja
