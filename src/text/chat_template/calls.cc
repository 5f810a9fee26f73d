// Loops, macros and everything that is called.
#include <algorithm>

#include "text/chat_template/fault.h"
#include "text/chat_template/interpreter.h"
#include "text/chat_template/ops.h"

namespace toccata::jinja {
namespace {

// Takes a keyword argument out of `args`; Missing when it was not given.
Value pop_keyword(Args& args, std::string_view name) {
  const auto at =
      std::find_if(args.keyword.begin(), args.keyword.end(), [&](const auto& k) { return k.first == name; });
  if (at == args.keyword.end()) return Missing{};
  Value value = std::move(at->second);
  args.keyword.erase(at);
  return value;
}

}  // namespace

class Interpreter::CallDepth {
 public:
  explicit CallDepth(Interpreter& in) : in_(in) {
    if (++in_.call_depth_ > in_.heap_.limits().call_depth) {
      --in_.call_depth_;
      exhausted("nests calls or data too deeply");
    }
  }
  ~CallDepth() { --in_.call_depth_; }
  CallDepth(const CallDepth&) = delete;
  CallDepth& operator=(const CallDepth&) = delete;

 private:
  Interpreter& in_;
};

// The items that pass the loop's `if`, tested one by one as the loop asks for them: the test sees what earlier turns
// did to a namespace.
Value Interpreter::filtered(const ForNode& node, Activation& definition, const Value& iterable) {
  struct State {
    Activation* local = nullptr;
    Iterator* items = nullptr;
  };
  return heap_.iterator("generator", [this, &node, &definition, iterable, state = State{}](Value& out) mutable {
    if (state.local == nullptr) {
      heap_.charge(node.test_slots * sizeof(Value));
      state.local = heap_.make<Activation>(node.test_slots, &definition);
      enter(node.test_plan, *state.local);
      state.items = iterate(heap_, iterable);
    }
    while (state.items->next(out)) {
      assign(*node.test_target, out, *state.local);
      if (truthy(heap_, eval(*node.test, *state.local))) return true;
    }
    return false;
  });
}

Interpreter::Flow Interpreter::exec_for(const ForNode& node, Activation& a) {
  const Value iterable = eval(*node.iter, a);
  if (!node.recursive) return run_loop(node, a, a, iterable, 0);
  write_value(render_recursive(node, a, iterable, 0));
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run_loop(const ForNode& node, Activation& local, Activation& definition,
                                        const Value& iterable, int depth0) {
  const Value source = node.test != nullptr ? filtered(node, definition, iterable) : iterable;
  Iterator* items = iterate(heap_, source);
  Loop* loop = nullptr;
  if (node.extended) {
    loop = heap_.make<Loop>(source, items, depth0);
    if (node.recursive) {
      loop->recursive = &node;
      loop->definition = &definition;
    }
  }
  bool completed_a_turn = false;  // jinja2 takes the else branch unless some turn reached the end of the body
  Value item;
  while (loop != nullptr ? loop->advance(item) : items->next(item)) {
    heap_.step();
    assign(*node.target, item, local);
    if (loop != nullptr) slot(node.loop_slot, local) = loop;
    enter(node.body_plan, local);
    const Flow flow = exec(node.body, local);
    if (flow == Flow::kBreak) break;
    completed_a_turn = completed_a_turn || flow == Flow::kNext;
  }
  if (!node.recursive || !node.otherwise.empty()) leave(node.body_plan, local);
  if (node.otherwise.empty() || completed_a_turn) return Flow::kNext;
  enter(node.else_plan, local);
  const Flow flow = exec(node.otherwise, local);
  leave(node.else_plan, local);
  return flow;
}

Value Interpreter::render_recursive(const ForNode& node, Activation& definition, const Value& iterable, int depth0) {
  const CallDepth depth(*this);
  heap_.charge(node.loop_slots * sizeof(Value));
  auto* local = heap_.make<Activation>(node.loop_slots, &definition);
  struct Redirect {
    std::string*& target;
    std::string* const saved;
    ~Redirect() { target = saved; }
  };
  std::string text;
  {
    const Redirect redirect{out_, out_};
    out_ = &text;
    run_loop(node, *local, definition, iterable, depth0);
  }
  return heap_.str(std::move(text));
}

Value Interpreter::call_loop(const Loop& loop, Args& args) {
  const auto a = bind<1>("loop", args, {"iterable"}, 1);
  if (loop.recursive == nullptr) raise("The loop must have the 'recursive' marker to be called recursively.");
  return render_recursive(*loop.recursive, *loop.definition, a[0], loop.depth0 + 1);
}

// The argument rules of jinja2's Macro.__call__.
Value Interpreter::call_macro(const Macro& macro, Args& args) {
  const CallDepth depth(*this);
  const MacroBody& body = *macro.body;
  heap_.charge(body.slots * sizeof(Value));
  auto* local = heap_.make<Activation>(body.slots, macro.definition);
  const size_t count = body.args.size();
  bool found_caller = false;
  for (size_t i = 0; i < count; ++i) {
    const bool positional = i < args.positional.size();
    found_caller = found_caller || body.args[i]->name == "caller";
    slot(body.args[i]->slot, *local) = positional ? args.positional[i] : pop_keyword(args, body.args[i]->name);
  }
  if (body.uses_caller && !found_caller) {
    const Value caller = pop_keyword(args, "caller");
    slot(body.caller_slot, *local) =
        caller.is_missing() || caller.is_none() ? heap_.undefined("No caller defined") : caller;
  }
  const std::string name = macro.name.is_none() ? "None" : repr_string(macro.name.text());
  if (body.uses_kwargs) {
    Dict* rest = heap_.dict();
    for (const auto& [key, value] : args.keyword) rest->set(heap_, heap_.str(key), value);
    slot(body.kwargs_slot, *local) = rest;
  } else if (!args.keyword.empty()) {
    raise("macro " + name + " takes no keyword argument " + repr_string(args.keyword[0].first));
  }
  if (body.uses_varargs) {
    std::vector<Value> rest;
    if (args.positional.size() > count)
      rest.assign(args.positional.begin() + static_cast<long>(count), args.positional.end());
    slot(body.varargs_slot, *local) = heap_.tuple(std::move(rest));
  } else if (args.positional.size() > count) {
    raise("macro " + name + " takes not more than " + std::to_string(count) + " argument(s)");
  }
  enter(body.plan, *local);
  for (size_t i = 0; i < count; ++i) {
    Value& argument = slot(body.args[i]->slot, *local);
    if (!argument.is_missing()) continue;
    const size_t first_default = count - body.defaults.size();
    argument = i >= first_default ? eval(*body.defaults[i - first_default], *local)
                                  : heap_.undefined("parameter '" + body.args[i]->name + "' was not provided");
  }
  std::string text;
  capture(body.body, *local, text);
  return heap_.str(std::move(text));
}

Value Interpreter::call(const Value& callee, Args& args) {
  heap_.step();
  check_defined(callee);
  switch (callee.kind()) {
    case Kind::kMacro:
      return call_macro(*callee.as<Macro>(), args);
    case Kind::kFunction:
      return callee.as<Function>()->body(*this, args);
    case Kind::kLoop:
      return call_loop(*callee.as<Loop>(), args);
    case Kind::kMethod: {
      const auto* method = callee.as<Method>();
      if (method->entry->body == nullptr) {
        refuse("the method '" + std::string(type_name(method->self)) + "." + std::string(method->entry->name) + "'");
      }
      if (method->self.is_string()) heap_.step_bytes(method->self.text().size());
      return method->entry->body(*this, method->self, args);
    }
    case Kind::kJoiner: {
      expect_no_args("joiner", args);
      auto* joiner = callee.as<Joiner>();
      if (joiner->used) return joiner->separator;
      joiner->used = true;
      return heap_.str("");
    }
    default:
      raise("'" + std::string(type_name(callee)) + "' object is not callable");
  }
}

Value Interpreter::call_filter(const std::string& name, const Value& input, Args args) {
  const FilterBody body = find_filter(name);
  if (body == nullptr) refuse("the filter '" + name + "'");
  if (input.is_string()) heap_.step_bytes(input.text().size());
  return body(*this, input, args);
}

bool Interpreter::call_test(const std::string& name, const Value& input, Args args) {
  const TestBody body = find_test(name);
  if (body == nullptr) refuse("the test '" + name + "'");
  return body(*this, input, args);
}

}  // namespace toccata::jinja
