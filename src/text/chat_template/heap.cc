#include "text/chat_template/heap.h"

#include "text/chat_template/fault.h"

namespace toccata::jinja {

Heap::Heap(const Limits& limits) : limits_(limits), stack_base_(static_cast<const char*>(__builtin_frame_address(0))) {}

void Heap::step(size_t n) {
  steps_ += n;
  if (steps_ > limits_.steps) exhausted("runs too long (more than " + std::to_string(limits_.steps) + " steps)");
}

void Heap::reserve(size_t bytes) const {
  const size_t used = object_bytes_ + meter_.live;
  if (bytes > limits_.memory_bytes || used > limits_.memory_bytes - bytes) {
    exhausted("needs more than " + std::to_string(limits_.memory_bytes >> 20) + " MiB of memory");
  }
}

void Heap::charge(size_t bytes) {
  reserve(bytes);
  object_bytes_ += bytes;
}

void Heap::check_stack() const {
  const auto* here = static_cast<const char*>(__builtin_frame_address(0));
  if (stack_base_ - here > static_cast<ptrdiff_t>(limits_.stack_bytes)) exhausted("nests calls or data too deeply");
}

Value Heap::str(std::string text, bool markup) {
  reserve(text.size());
  step_bytes(text.size());
  return Str(std::move(text), markup, &meter_);
}

Value Heap::list(std::vector<Value> items) {
  charge(items.size() * sizeof(Value));
  step(items.size() / 16 + 1);
  return make<List>(std::move(items));
}

Value Heap::tuple(std::vector<Value> items, bool group) {
  charge(items.size() * sizeof(Value));
  step(items.size() / 16 + 1);
  return make<Tuple>(std::move(items), group);
}

Value Heap::undefined(std::string message) {
  charge(message.size());
  return make<Undefined>(std::move(message));
}

Value Heap::iterator(std::string_view type, Iterator::Next next) {
  charge(128);  // what the closure captures
  return make<Iterator>(type, std::move(next));
}

}  // namespace toccata::jinja
