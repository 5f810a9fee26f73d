#include "text/chat_template/symbols.h"

#include <algorithm>

#include "text/chat_template/fault.h"
#include "text/chat_template/limits.h"

namespace toccata::jinja {
namespace {

struct UndeclaredFinder {
  std::set<std::string> names;
  std::set<std::string> found;

  void visit(Node& node) {
    if (node.kind == NodeKind::kName) {
      const auto& name = static_cast<NameNode&>(node);
      if (name.use == NameUse::kLoad && names.count(name.name) != 0) {
        found.insert(name.name);
      } else {
        names.erase(name.name);
      }
    }
    for_each_child(node, [this](Node& child) { visit(child); });
  }
};

}  // namespace

std::set<std::string> find_undeclared(const NodeList& nodes, std::set<std::string> names) {
  UndeclaredFinder finder{std::move(names), {}};
  for (const NodePtr& node : nodes) finder.visit(*node);
  return finder.found;
}

uint16_t FunctionScope::slot_of(int level, const std::string& name) {
  if (slots.size() >= kMaxVariables) refuse("more than " + std::to_string(kMaxVariables) + " variables");
  return slots.emplace(std::make_pair(level, name), static_cast<uint16_t>(slots.size())).first->second;
}

void Symbols::set_load(uint16_t slot, Load load) {
  for (auto& [known, value] : loads_) {
    if (known == slot) {
      value = std::move(load);
      return;
    }
  }
  loads_.emplace_back(slot, std::move(load));
}

Ident Symbols::define(const std::string& name, Load load) {
  const Ident ident{function_, function_->slot_of(level_, name)};
  refs_[name] = ident;
  set_load(ident.slot, std::move(load));
  return ident;
}

std::optional<Ident> Symbols::find(const std::string& name) const {
  for (const Symbols* scope = this; scope != nullptr; scope = scope->parent_) {
    const auto it = scope->refs_.find(name);
    if (it != scope->refs_.end()) return it->second;
  }
  return std::nullopt;
}

SlotRef Symbols::resolve(const std::string& name, const FunctionScope& user) const {
  const auto ident = find(name);
  if (!ident.has_value()) raise("the name '" + name + "' cannot be used here");
  return ident->seen_from(user);
}

Ident Symbols::declare_parameter(const std::string& name) {
  stores_.insert(name);
  return define(name, {Action::kParameter, {}, name});
}

void Symbols::store(const std::string& name) {
  stores_.insert(name);
  if (refs_.count(name) != 0) return;
  const auto outer = parent_ == nullptr ? std::nullopt : parent_->find(name);
  if (outer.has_value()) {
    define(name, {Action::kAlias, *outer, name});
  } else {
    define(name, {Action::kUnbound, {}, name});
  }
}

void Symbols::load(const std::string& name) {
  if (!find(name).has_value()) define(name, {Action::kResolve, {}, name});
}

void Symbols::merge_branches(const std::vector<Symbols>& branches) {
  std::set<std::string> assigned;
  for (const Symbols& branch : branches) {
    for (const std::string& name : branch.stores_) {
      if (stores_.count(name) == 0) assigned.insert(name);
    }
  }
  for (const Symbols& branch : branches) {
    for (const auto& [name, ident] : branch.refs_) refs_[name] = ident;
    for (const auto& [slot, value] : branch.loads_) set_load(slot, value);
    stores_.insert(branch.stores_.begin(), branch.stores_.end());
  }
  // A name that only some branches assign starts with its outer value.
  for (const std::string& name : assigned) {
    const uint16_t slot = refs_.at(name).slot;
    const auto outer = parent_ == nullptr ? std::nullopt : parent_->find(name);
    if (outer.has_value()) {
      set_load(slot, {Action::kAlias, *outer, name});
    } else {
      set_load(slot, {Action::kResolve, {}, name});
    }
  }
}

void Symbols::analyze_if(IfNode& node) {
  analyze(*node.test);
  std::vector<Symbols> branches(3, *this);
  branches[0].analyze(node.body);
  branches[1].analyze(node.elifs);
  branches[2].analyze(node.otherwise);
  merge_branches(branches);
}

void Symbols::analyze(const NodeList& nodes) {
  for (const NodePtr& node : nodes) analyze(*node);
}

// Statements with a scope of their own are entered only as far as they are evaluated in this one.
void Symbols::analyze(Node& node, bool as_parameter) {
  switch (node.kind) {
    case NodeKind::kName: {
      const auto& name = static_cast<NameNode&>(node);
      if (as_parameter || name.use == NameUse::kParameter) {
        declare_parameter(name.name);
      } else if (name.use == NameUse::kStore) {
        store(name.name);
      } else {
        load(name.name);
      }
      break;
    }
    case NodeKind::kNsRef:
      load(static_cast<NsRefNode&>(node).name);
      break;
    case NodeKind::kIf:
      analyze_if(static_cast<IfNode&>(node));
      break;
    case NodeKind::kMacro:
      store(static_cast<MacroNode&>(node).name);
      break;
    case NodeKind::kAssign:
      analyze(*static_cast<AssignNode&>(node).value);
      analyze(*static_cast<AssignNode&>(node).target);
      break;
    case NodeKind::kFor:
      analyze(*static_cast<ForNode&>(node).iter);
      break;
    case NodeKind::kCallBlock:
      if (static_cast<CallBlockNode&>(node).call != nullptr) analyze(*static_cast<CallBlockNode&>(node).call);
      break;
    case NodeKind::kFilterBlock:
      analyze(*static_cast<FilterBlockNode&>(node).filter);
      break;
    case NodeKind::kWith:
      analyze(static_cast<WithNode&>(node).values);
      break;
    case NodeKind::kAssignBlock:
      analyze(*static_cast<AssignBlockNode&>(node).target);
      break;
    default:
      for_each_child(node, [&](Node& child) { analyze(child, as_parameter); });
      break;
  }
}

FramePlan Symbols::plan() const {
  FramePlan out;
  for (const auto& [slot, value] : loads_) {
    const SlotRef from = value.action == Action::kAlias ? value.from.seen_from(*function_) : SlotRef{};
    out.loads.push_back({slot, value.action, from, value.name});
  }
  return out;
}

}  // namespace toccata::jinja
