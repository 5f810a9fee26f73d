// The memory and the work of one rendering, counted against its limits.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/chat_template/limits.h"
#include "text/chat_template/objects.h"

namespace toccata::jinja {

class Heap {
 public:
  // The thread's stack is measured from here, so the heap is made where rendering starts.
  explicit Heap(const Limits& limits);
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // `n` units of work; a fault ends the rendering when the limit is passed.
  void step(size_t n = 1);
  // Work proportional to so many bytes of text or data.
  void step_bytes(size_t bytes) { step(bytes / 256 + 1); }
  // Faults unless `bytes` more could be held: call it before building something large.
  void reserve(size_t bytes) const;
  // Faults when nested calls and data use up the stack.
  void check_stack() const;

  Value str(std::string text, bool markup = false);
  Value list(std::vector<Value> items);
  Value tuple(std::vector<Value> items, bool group = false);
  Value undefined(std::string message);
  Value iterator(std::string_view type, Iterator::Next next);
  Dict* dict() { return make<Dict>(); }

  template <class T, class... A>
  T* make(A&&... args) {
    charge(sizeof(T) + sizeof(void*));
    auto object = std::make_unique<T>(std::forward<A>(args)...);
    T* raw = object.get();
    objects_.push_back(std::move(object));
    return raw;
  }
  // Memory that an object of this heap holds beside itself.
  void charge(size_t bytes);

  const Limits& limits() const { return limits_; }

 private:
  const Limits limits_;
  const char* stack_base_;
  uint64_t steps_ = 0;
  size_t object_bytes_ = 0;
  Meter meter_;  // outlives objects_, whose strings report to it
  std::vector<std::unique_ptr<Object>> objects_;
};

}  // namespace toccata::jinja
