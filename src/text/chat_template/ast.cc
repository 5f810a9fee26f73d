#include "text/chat_template/ast.h"

#include "text/chat_template/statements.h"

namespace toccata::jinja {
namespace {

using Visit = std::function<void(Node&)>;

void visit_one(const NodePtr& node, const Visit& visit) {
  if (node != nullptr) visit(*node);
}

void visit_all(const NodeList& nodes, const Visit& visit) {
  for (const NodePtr& node : nodes) visit_one(node, visit);
}

void visit_arguments(const Arguments& arguments, const Visit& visit) {
  visit_all(arguments.args, visit);
  for (const auto& [name, value] : arguments.kwargs) visit_one(value, visit);
  visit_one(arguments.dyn_args, visit);
  visit_one(arguments.dyn_kwargs, visit);
}

void visit_macro(const MacroBody& macro, const Visit& visit) {
  for (const auto& arg : macro.args) visit(*arg);
  visit_all(macro.defaults, visit);
  visit_all(macro.body, visit);
}

template <class T>
T& to(Node& node) {
  return static_cast<T&>(node);
}

void visit_statement(Node& node, const Visit& visit) {
  switch (node.kind) {
    case NodeKind::kFor:
      visit_one(to<ForNode>(node).target, visit);
      visit_one(to<ForNode>(node).iter, visit);
      visit_all(to<ForNode>(node).body, visit);
      visit_all(to<ForNode>(node).otherwise, visit);
      visit_one(to<ForNode>(node).test, visit);
      break;
    case NodeKind::kIf:
      visit_one(to<IfNode>(node).test, visit);
      visit_all(to<IfNode>(node).body, visit);
      visit_all(to<IfNode>(node).elifs, visit);
      visit_all(to<IfNode>(node).otherwise, visit);
      break;
    case NodeKind::kMacro:
      visit_macro(to<MacroNode>(node).macro, visit);
      break;
    case NodeKind::kCallBlock:
      visit_one(to<CallBlockNode>(node).call, visit);
      visit_macro(to<CallBlockNode>(node).macro, visit);
      break;
    case NodeKind::kFilterBlock:
      visit_all(to<FilterBlockNode>(node).body, visit);
      visit_one(to<FilterBlockNode>(node).filter, visit);
      break;
    case NodeKind::kWith:
      visit_all(to<WithNode>(node).targets, visit);
      visit_all(to<WithNode>(node).values, visit);
      visit_all(to<WithNode>(node).body, visit);
      break;
    case NodeKind::kAssign:
      visit_one(to<AssignNode>(node).target, visit);
      visit_one(to<AssignNode>(node).value, visit);
      break;
    case NodeKind::kAssignBlock:
      visit_one(to<AssignBlockNode>(node).target, visit);
      visit_one(to<AssignBlockNode>(node).filter, visit);
      visit_all(to<AssignBlockNode>(node).body, visit);
      break;
    default:
      break;
  }
}

}  // namespace

void for_each_child(Node& node, const Visit& visit) {
  switch (node.kind) {
    case NodeKind::kTuple:
    case NodeKind::kList:
    case NodeKind::kConcat:
    case NodeKind::kOutput:
      visit_all(to<ItemsNode>(node).items, visit);
      break;
    case NodeKind::kDict:
      for (const auto& [key, value] : to<DictNode>(node).entries) {
        visit(*key);
        visit(*value);
      }
      break;
    case NodeKind::kUnary:
    case NodeKind::kNot:
      visit(*to<UnaryNode>(node).operand);
      break;
    case NodeKind::kBinary:
    case NodeKind::kAnd:
    case NodeKind::kOr:
      visit(*to<BinaryNode>(node).left);
      visit(*to<BinaryNode>(node).right);
      break;
    case NodeKind::kCompare:
      visit(*to<CompareNode>(node).first);
      for (const auto& [op, operand] : to<CompareNode>(node).rest) visit(*operand);
      break;
    case NodeKind::kCond:
      visit(*to<CondNode>(node).test);
      visit(*to<CondNode>(node).then);
      visit_one(to<CondNode>(node).otherwise, visit);
      break;
    case NodeKind::kCall:
      visit(*to<CallNode>(node).callee);
      visit_arguments(to<CallNode>(node).arguments, visit);
      break;
    case NodeKind::kFilter:
      visit_one(to<FilterNode>(node).operand, visit);
      visit_arguments(to<FilterNode>(node).arguments, visit);
      break;
    case NodeKind::kTest:
      visit(*to<TestNode>(node).operand);
      visit_arguments(to<TestNode>(node).arguments, visit);
      break;
    case NodeKind::kGetattr:
      visit(*to<GetattrNode>(node).object);
      break;
    case NodeKind::kGetitem:
      visit(*to<GetitemNode>(node).object);
      visit(*to<GetitemNode>(node).index);
      break;
    case NodeKind::kSlice:
      visit_one(to<SliceNode>(node).start, visit);
      visit_one(to<SliceNode>(node).stop, visit);
      visit_one(to<SliceNode>(node).step, visit);
      break;
    default:
      visit_statement(node, visit);
      break;
  }
}

}  // namespace toccata::jinja
