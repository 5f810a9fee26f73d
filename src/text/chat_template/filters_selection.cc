// map, select, reject, selectattr and rejectattr: lazy, one-shot, like the Python generators they are in jinja2.
#include "text/chat_template/fault.h"
#include "text/chat_template/filters.h"
#include "text/chat_template/interpreter.h"
#include "text/chat_template/ops.h"

namespace toccata::jinja {
namespace {

using Transform = std::function<Value(const Value&)>;

// jinja2 prepares the arguments when the first item is asked for, and not at all for a false value.
template <class Prepare, class Step>
Value lazily(Interpreter& in, const Value& value, Prepare prepare, Step step) {
  struct State {
    Iterator* items = nullptr;
    Transform transform;
  };
  return in.heap().iterator("generator", [&in, value, prepare, step, state = State{}](Value& out) mutable {
    if (state.items == nullptr) {
      if (!truthy(in.heap(), value)) return false;
      state.transform = prepare();
      state.items = iterate(in.heap(), value);
    }
    Value item;
    while (state.items->next(item)) {
      in.heap().step();
      if (step(state.transform(item), item, out)) return true;
    }
    return false;
  });
}

Value pop_keyword(Args& args, std::string_view name) {
  for (auto it = args.keyword.begin(); it != args.keyword.end(); ++it) {
    if (it->first != name) continue;
    Value value = it->second;
    args.keyword.erase(it);
    return value;
  }
  return Missing{};
}

std::string name_of(const Value& value) { return value.is_string() ? value.text() : "?"; }

Transform prepare_map(Interpreter& in, Args args) {
  if (args.positional.empty()) {
    const Value path = pop_keyword(args, "attribute");
    if (path.is_missing()) raise("map requires a filter argument");
    const Value fallback = pop_keyword(args, "default");
    if (!args.keyword.empty()) raise("Unexpected keyword argument " + repr_string(args.keyword[0].first));
    return [&in, path, fallback](const Value& item) { return follow_path(in.heap(), item, path, fallback); };
  }
  const std::string name = name_of(args.positional[0]);
  args.positional.erase(args.positional.begin());
  return [&in, name, args](const Value& item) { return in.call_filter(name, item, args); };
}

Value filter_map(Interpreter& in, const Value& value, Args& args) {
  return lazily(
      in, value, [&in, args] { return prepare_map(in, args); },
      [](Value mapped, const Value&, Value& out) {
        out = std::move(mapped);
        return true;
      });
}

// The test of select and its kin: by attribute, by a named test, or by truth.
Transform prepare_test(Interpreter& in, Args args, bool by_attribute) {
  Value path = None{};
  if (by_attribute) {
    if (args.positional.empty()) raise("Missing parameter for attribute name");
    path = args.positional[0];
    args.positional.erase(args.positional.begin());
  }
  if (args.positional.empty()) {
    return [&in, path](const Value& item) { return Value(truthy(in.heap(), follow_path(in.heap(), item, path))); };
  }
  const std::string name = name_of(args.positional[0]);
  args.positional.erase(args.positional.begin());
  return [&in, path, name, args](const Value& item) {
    return Value(in.call_test(name, follow_path(in.heap(), item, path), args));
  };
}

template <bool Keep, bool ByAttribute>
Value filter_select(Interpreter& in, const Value& value, Args& args) {
  return lazily(
      in, value, [&in, args] { return prepare_test(in, args, ByAttribute); },
      [](const Value& passed, const Value& item, Value& out) {
        if (passed.boolean() != Keep) return false;
        out = item;
        return true;
      });
}

constexpr FilterEntry kFilters[] = {
    {"map", filter_map},
    {"reject", filter_select<false, false>},
    {"rejectattr", filter_select<false, true>},
    {"select", filter_select<true, false>},
    {"selectattr", filter_select<true, true>},
};

}  // namespace

FilterBody find_selection_filter(std::string_view name) { return find_entry(kFilters, name); }

}  // namespace toccata::jinja
