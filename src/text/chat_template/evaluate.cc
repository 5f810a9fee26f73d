// Expressions.
#include "text/chat_template/fault.h"
#include "text/chat_template/interpreter.h"
#include "text/chat_template/ops.h"

namespace toccata::jinja {

Value& Interpreter::slot(const SlotRef& ref, Activation& a) {
  Activation* at = &a;
  for (int i = 0; i < ref.hops; ++i) at = at->parent;
  return at->slots[ref.slot];
}

Value Interpreter::eval(const Node& node, Activation& a) {
  heap_.step();
  heap_.check_stack();
  switch (node.kind) {
    case NodeKind::kName:
      return eval_name(static_cast<const NameNode&>(node), a);
    case NodeKind::kConst:
      return static_cast<const ConstNode&>(node).value;
    case NodeKind::kTuple:
    case NodeKind::kList:
      return eval_items(static_cast<const ItemsNode&>(node), a);
    case NodeKind::kConcat:
      return eval_concat(static_cast<const ItemsNode&>(node), a);
    case NodeKind::kDict:
      return eval_dict(static_cast<const DictNode&>(node), a);
    case NodeKind::kUnary: {
      const auto& operation = static_cast<const UnaryNode&>(node);
      return unary(operation.op, eval(*operation.operand, a));
    }
    case NodeKind::kNot:
      return Value(!truthy(heap_, eval(*static_cast<const UnaryNode&>(node).operand, a)));
    case NodeKind::kBinary: {
      const auto& operation = static_cast<const BinaryNode&>(node);
      const Value left = eval(*operation.left, a);
      return binary(heap_, operation.op, left, eval(*operation.right, a));
    }
    case NodeKind::kAnd:
    case NodeKind::kOr: {
      const auto& operation = static_cast<const BinaryNode&>(node);
      const Value left = eval(*operation.left, a);
      return truthy(heap_, left) == (node.kind == NodeKind::kOr) ? left : eval(*operation.right, a);
    }
    case NodeKind::kCompare:
      return eval_compare(static_cast<const CompareNode&>(node), a);
    case NodeKind::kCond:
      return eval_cond(static_cast<const CondNode&>(node), a);
    case NodeKind::kCall: {
      const auto& operation = static_cast<const CallNode&>(node);
      const Value callee = eval(*operation.callee, a);
      Args args = eval_arguments(operation.arguments, a);
      return call(callee, args);
    }
    case NodeKind::kFilter:
      return eval_filter(static_cast<const FilterNode&>(node), a);
    case NodeKind::kTest:
      return eval_test(static_cast<const TestNode&>(node), a);
    case NodeKind::kGetattr: {
      const auto& operation = static_cast<const GetattrNode&>(node);
      return get_attr(heap_, eval(*operation.object, a), operation.name);
    }
    case NodeKind::kGetitem:
      return eval_getitem(static_cast<const GetitemNode&>(node), a);
    default:
      raise("this expression has no value");
  }
}

Value Interpreter::eval_name(const NameNode& node, Activation& a) {
  const Value& value = slot(node.slot, a);
  return value.is_missing() ? heap_.undefined("'" + node.name + "' is undefined") : value;
}

Value Interpreter::eval_items(const ItemsNode& node, Activation& a) {
  std::vector<Value> items;
  items.reserve(node.items.size());
  for (const NodePtr& item : node.items) items.push_back(eval(*item, a));
  return node.kind == NodeKind::kList ? heap_.list(std::move(items)) : heap_.tuple(std::move(items));
}

Value Interpreter::eval_dict(const DictNode& node, Activation& a) {
  Dict* dict = heap_.dict();
  for (const auto& [key, value] : node.entries) {
    const Value k = eval(*key, a);
    dict->set(heap_, k, eval(*value, a));
  }
  return dict;
}

Value Interpreter::eval_concat(const ItemsNode& node, Activation& a) {
  std::vector<Value> values;
  for (const NodePtr& item : node.items) values.push_back(eval(*item, a));
  std::string text;
  for (const Value& value : values) {
    const Str part = to_str(heap_, value);
    heap_.reserve(2 * text.size() + part.text().size());
    text += part.text();
  }
  return heap_.str(std::move(text));
}

Value Interpreter::eval_compare(const CompareNode& node, Activation& a) {
  Value left = eval(*node.first, a);
  for (const auto& [op, operand] : node.rest) {
    Value right = eval(*operand, a);
    if (!compare(heap_, op, left, right)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Interpreter::eval_cond(const CondNode& node, Activation& a) {
  if (truthy(heap_, eval(*node.test, a))) return eval(*node.then, a);
  if (node.otherwise != nullptr) return eval(*node.otherwise, a);
  return heap_.undefined("the inline if-expression on line " + std::to_string(node.line) +
                         " evaluated to false and no else section was defined.");
}

Value Interpreter::eval_filter(const FilterNode& node, Activation& a) {
  const Value input = node.operand == nullptr ? block_text_ : eval(*node.operand, a);
  Args args = eval_arguments(node.arguments, a);
  if (node.body == nullptr) refuse("the filter '" + node.name + "'");
  if (input.is_string()) heap_.step_bytes(input.text().size());
  return node.body(*this, input, args);
}

Value Interpreter::eval_test(const TestNode& node, Activation& a) {
  const Value input = eval(*node.operand, a);
  Args args = eval_arguments(node.arguments, a);
  if (node.body == nullptr) refuse("the test '" + node.name + "'");
  return Value(node.body(*this, input, args));
}

Value Interpreter::eval_getitem(const GetitemNode& node, Activation& a) {
  const Value object = eval(*node.object, a);
  if (node.index->kind != NodeKind::kSlice) return get_item(heap_, object, eval(*node.index, a));
  const auto& parts = static_cast<const SliceNode&>(*node.index);
  const auto part = [&](const NodePtr& p) { return p == nullptr ? Value(None{}) : eval(*p, a); };
  const Value start = part(parts.start);
  const Value stop = part(parts.stop);
  return slice(heap_, object, start, stop, part(parts.step));
}

Args Interpreter::eval_arguments(const Arguments& arguments, Activation& a) {
  Args out;
  for (const NodePtr& arg : arguments.args) out.positional.push_back(eval(*arg, a));
  for (const auto& [name, value] : arguments.kwargs) out.keyword.emplace_back(name, eval(*value, a));
  if (arguments.dyn_args != nullptr) {
    for (Value& value : to_vector(heap_, eval(*arguments.dyn_args, a))) out.positional.push_back(std::move(value));
  }
  if (arguments.dyn_kwargs == nullptr) return out;
  const Value given = eval(*arguments.dyn_kwargs, a);
  check_defined(given);
  const auto* dict = given.as<Dict>();
  if (dict == nullptr) raise("argument after ** must be a mapping, not " + std::string(type_name(given)));
  for (const auto& [key, value] : dict->entries) {
    const std::string& name = text_of(key, "keywords");
    for (const auto& [known, ignored] : out.keyword) {
      if (known == name) raise("got multiple values for keyword argument '" + name + "'");
    }
    out.keyword.emplace_back(name, value);
  }
  return out;
}

}  // namespace toccata::jinja
