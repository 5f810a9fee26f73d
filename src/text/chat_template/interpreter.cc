#include "text/chat_template/interpreter.h"

#include <boost/json/object.hpp>

#include "text/chat_template/fault.h"
#include "text/chat_template/json_values.h"
#include "text/chat_template/ops.h"

namespace toccata::jinja {

std::string Interpreter::render(const boost::json::object& context) {
  context_ = heap_.dict();
  globals_ = heap_.dict();
  for (const auto& [key, value] : context) {
    context_->set(heap_, heap_.str(std::string(key)), from_json(heap_, value));
  }
  auto* root = heap_.make<Activation>(program_.slots, nullptr);
  enter(program_.plan, *root);
  exec(program_.body, *root);
  return std::move(output_);
}

void Interpreter::write(std::string_view text) {
  written_ += text.size();
  if (written_ > heap_.limits().output_bytes) {
    exhausted("writes more than " + std::to_string(heap_.limits().output_bytes >> 20) + " MiB of text");
  }
  heap_.step_bytes(text.size());
  *out_ += text;
}

void Interpreter::write_value(const Value& value) {
  if (!value.is_string()) raise("sequence item: expected str instance, " + std::string(type_name(value)) + " found");
  write(value.text());
}

Value Interpreter::resolve(const std::string& name) {
  if (const Value* found = context_->find(name)) return *found;
  if (const Value* known = globals_->find(name)) return *known;
  Value global = find_global(heap_, name);
  if (!global.is_missing()) globals_->set(heap_, heap_.str(name), global);
  return global;
}

void Interpreter::enter(const FramePlan& plan, Activation& a) {
  for (const FramePlan::Load& load : plan.loads) {
    switch (load.action) {
      case FramePlan::Action::kParameter:
        break;
      case FramePlan::Action::kResolve:
        a.slots[load.slot] = resolve(load.name);
        break;
      case FramePlan::Action::kAlias:
        a.slots[load.slot] = slot(load.from, a);
        break;
      case FramePlan::Action::kUnbound:
        a.slots[load.slot] = Missing{};
        break;
    }
  }
}

void Interpreter::leave(const FramePlan& plan, Activation& a) {
  for (const FramePlan::Load& load : plan.loads) a.slots[load.slot] = Missing{};
}

Interpreter::Flow Interpreter::capture(const NodeList& body, Activation& a, std::string& text) {
  struct Redirect {
    std::string*& target;
    std::string* const saved;
    ~Redirect() { target = saved; }
  } redirect{out_, out_};
  out_ = &text;
  return exec(body, a);
}

Interpreter::Flow Interpreter::exec(const NodeList& nodes, Activation& a) {
  for (const NodePtr& node : nodes) {
    const Flow flow = exec_node(*node, a);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::exec_node(const Node& node, Activation& a) try {
  heap_.step();
  heap_.check_stack();
  switch (node.kind) {
    case NodeKind::kOutput:
      exec_output(static_cast<const ItemsNode&>(node), a);
      break;
    case NodeKind::kFor:
      return exec_for(static_cast<const ForNode&>(node), a);
    case NodeKind::kIf:
      return exec_if(static_cast<const IfNode&>(node), a);
    case NodeKind::kMacro: {
      const auto& macro = static_cast<const MacroNode&>(node);
      slot(macro.slot, a) = heap_.make<Macro>(heap_.str(macro.name), &macro.macro, &a);
      break;
    }
    case NodeKind::kCallBlock:
      exec_call_block(static_cast<const CallBlockNode&>(node), a);
      break;
    case NodeKind::kFilterBlock:
      return exec_filter_block(static_cast<const FilterBlockNode&>(node), a);
    case NodeKind::kWith:
      return exec_with(static_cast<const WithNode&>(node), a);
    case NodeKind::kAssign:
      exec_assign(static_cast<const AssignNode&>(node), a);
      break;
    case NodeKind::kAssignBlock:
      return exec_assign_block(static_cast<const AssignBlockNode&>(node), a);
    case NodeKind::kBreak:
      return Flow::kBreak;
    case NodeKind::kContinue:
      return Flow::kContinue;
    default:
      break;
  }
  return Flow::kNext;
} catch (Fault& fault) {
  if (fault.line == 0) fault.line = node.line;
  throw;
}

void Interpreter::exec_output(const ItemsNode& node, Activation& a) {
  for (const NodePtr& item : node.items) {
    if (item->kind == NodeKind::kData) {
      write(static_cast<const ConstNode&>(*item).value.text());
      continue;
    }
    try {
      write(to_str(heap_, eval(*item, a)).text());
    } catch (Fault& fault) {
      if (fault.line == 0) fault.line = item->line;
      throw;
    }
  }
}

Interpreter::Flow Interpreter::exec_if(const IfNode& node, Activation& a) {
  if (truthy(heap_, eval(*node.test, a))) return exec(node.body, a);
  for (const NodePtr& elif : node.elifs) {
    const auto& branch = static_cast<const IfNode&>(*elif);
    if (truthy(heap_, eval(*branch.test, a))) return exec(branch.body, a);
  }
  return exec(node.otherwise, a);
}

void Interpreter::check_namespaces(const Node& target, Activation& a) {
  if (target.kind == NodeKind::kNsRef) {
    const Value& value = slot(static_cast<const NsRefNode&>(target).slot, a);
    if (value.as<Namespace>() == nullptr) raise("cannot assign attribute on non-namespace object");
  } else if (target.kind == NodeKind::kTuple) {
    for (const NodePtr& item : static_cast<const ItemsNode&>(target).items) check_namespaces(*item, a);
  }
}

void Interpreter::assign(const Node& target, const Value& value, Activation& a) {
  if (target.kind == NodeKind::kName) {
    slot(static_cast<const NameNode&>(target).slot, a) = value;
    return;
  }
  if (target.kind == NodeKind::kNsRef) {
    const auto& ref = static_cast<const NsRefNode&>(target);
    auto* names = slot(ref.slot, a).as<Namespace>();
    if (slot(ref.slot, a).is(Kind::kDict)) refuse("assigning to the items of a dict");
    if (names == nullptr) raise("object does not support item assignment");
    const Value name = heap_.str(ref.attr);
    check_namespace_name(name);
    names->attributes->set(heap_, name, value);
    return;
  }
  const NodeList& items = static_cast<const ItemsNode&>(target).items;
  if (!is_iterable(value)) raise("cannot unpack non-iterable " + std::string(type_name(value)) + " object");
  Iterator* iterator = iterate(heap_, value);
  std::vector<Value> values;
  Value next;
  while (values.size() <= items.size() && iterator->next(next)) values.push_back(next);
  if (values.size() != items.size()) {
    raise(std::string(values.size() < items.size() ? "not enough" : "too many") + " values to unpack (expected " +
          std::to_string(items.size()) + ")");
  }
  for (size_t i = 0; i < items.size(); ++i) assign(*items[i], values[i], a);
}

void Interpreter::exec_assign(const AssignNode& node, Activation& a) {
  check_namespaces(*node.target, a);
  assign(*node.target, eval(*node.value, a), a);
}

Interpreter::Flow Interpreter::exec_assign_block(const AssignBlockNode& node, Activation& a) {
  enter(node.plan, a);
  std::string text;
  const Flow flow = capture(node.body, a, text);
  if (flow != Flow::kNext) return flow;
  block_text_ = heap_.str(std::move(text));
  const Value value = node.filter != nullptr ? eval(*node.filter, a) : block_text_;
  assign(*node.target, value, a);
  leave(node.plan, a);
  return Flow::kNext;
}

Interpreter::Flow Interpreter::exec_filter_block(const FilterBlockNode& node, Activation& a) {
  enter(node.plan, a);
  std::string text;
  const Flow flow = capture(node.body, a, text);
  if (flow != Flow::kNext) return flow;
  block_text_ = heap_.str(std::move(text));
  write_value(eval(*node.filter, a));
  leave(node.plan, a);
  return Flow::kNext;
}

Interpreter::Flow Interpreter::exec_with(const WithNode& node, Activation& a) {
  enter(node.plan, a);
  for (size_t i = 0; i < node.targets.size(); ++i) assign(*node.targets[i], eval(*node.values[i], a), a);
  const Flow flow = exec(node.body, a);
  if (flow == Flow::kNext) leave(node.plan, a);
  return flow;
}

void Interpreter::exec_call_block(const CallBlockNode& node, Activation& a) {
  const Value caller = heap_.make<Macro>(None{}, &node.macro, &a);
  if (node.call == nullptr) {  // {% generation %} marks what the model wrote; the text itself is just its body
    Args none;
    write_value(call(caller, none));
    return;
  }
  const auto& call_node = static_cast<const CallNode&>(*node.call);
  const Value callee = eval(*call_node.callee, a);
  Args args = eval_arguments(call_node.arguments, a);
  for (const auto& [name, value] : args.keyword) {
    if (name == "caller") raise("got multiple values for keyword argument 'caller'");
  }
  args.keyword.emplace_back("caller", caller);
  write_value(call(callee, args));
}

}  // namespace toccata::jinja
