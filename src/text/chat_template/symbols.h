// Which names of a scope are local variables and what they start as: jinja2's idtracking.py.
//
// jinja2 decides this when it compiles a template, not when it runs: a name that a scope assigns anywhere is a local
// variable of that scope everywhere. `{% for i in a %}{{ x }}{% endfor %}{% set x = 1 %}` prints nothing for x even
// when the context has an x. A chain of dictionaries looked up at run time would print it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "text/chat_template/statements.h"

namespace toccata::jinja {

// A function of the compiled template. Variables of one level and name share a slot, as they share a Python variable.
struct FunctionScope {
  explicit FunctionScope(FunctionScope* outer) : parent(outer), depth(outer == nullptr ? 0 : outer->depth + 1) {}
  uint16_t slot_of(int level, const std::string& name);
  FunctionScope* const parent;
  const int depth;
  std::map<std::pair<int, std::string>, uint16_t> slots;
};

struct Ident {
  const FunctionScope* function = nullptr;
  uint16_t slot = 0;
  SlotRef seen_from(const FunctionScope& user) const {
    return {static_cast<uint16_t>(user.depth - function->depth), slot};
  }
};

class Symbols {
 public:
  Symbols(const Symbols* parent, FunctionScope* function)
      : parent_(parent), function_(function), level_(parent == nullptr ? 0 : parent->level_ + 1) {}

  // Notes all uses of names in `node` that belong to this scope. `as_parameter`: assigned names are loop targets.
  void analyze(Node& node, bool as_parameter = false);
  void analyze(const NodeList& nodes);
  Ident declare_parameter(const std::string& name);
  std::optional<Ident> find(const std::string& name) const;
  // The slot of a name that was analyzed before, for code in `user`; faults as jinja2 does when it was not.
  SlotRef resolve(const std::string& name, const FunctionScope& user) const;
  FramePlan plan() const;

 private:
  using Action = FramePlan::Action;
  struct Load {
    Action action;
    Ident from;
    std::string name;
  };
  Ident define(const std::string& name, Load load);
  void set_load(uint16_t slot, Load load);
  void store(const std::string& name);
  void load(const std::string& name);
  void analyze_if(IfNode& node);
  void merge_branches(const std::vector<Symbols>& branches);

  const Symbols* parent_;
  FunctionScope* function_;
  int level_;
  std::map<std::string, Ident> refs_;
  std::vector<std::pair<uint16_t, Load>> loads_;
  std::set<std::string> stores_;
};

// The names among `names` that `nodes` read before they assign them, closures included.
std::set<std::string> find_undeclared(const NodeList& nodes, std::set<std::string> names);

}  // namespace toccata::jinja
