#include <algorithm>

#include "text/chat_template/builtins.h"
#include "text/chat_template/fault.h"
#include "text/chat_template/limits.h"
#include "text/chat_template/parser_impl.h"

namespace toccata::jinja {
namespace {

bool compare_op(const Token& token, CompareOp& op) {
  if (token.kind != TokenKind::kOperator) return false;
  constexpr std::pair<std::string_view, CompareOp> kOps[] = {
      {"==", CompareOp::kEq}, {"!=", CompareOp::kNe}, {"<", CompareOp::kLt},
      {"<=", CompareOp::kLe}, {">", CompareOp::kGt},  {">=", CompareOp::kGe},
  };
  for (const auto& [text, value] : kOps) {
    if (token.text == text) {
      op = value;
      return true;
    }
  }
  return false;
}

Value string_value(std::string text) { return Str(std::move(text)); }

}  // namespace

NodePtr Parser::finish(NodePtr node, int line) const {
  node->line = line;
  int below = 0;
  for_each_child(*node, [&](Node& child) { below = std::max(below, child.depth); });
  node->depth = below + 1;
  if (node->depth > kMaxExpressionDepth)
    refuse("expressions nested deeper than " + std::to_string(kMaxExpressionDepth));
  return node;
}

NodePtr Parser::binary(NodeKind kind, NodePtr left, NodePtr right, int line) const {
  return finish(std::make_unique<BinaryNode>(kind, std::move(left), std::move(right)), line);
}

NodePtr Parser::parse_expression(bool with_condexpr) { return with_condexpr ? parse_condexpr() : parse_or(); }

NodePtr Parser::parse_condexpr() {
  const Nested nested(nesting_, kMaxExpressionDepth, "expressions");
  int line = current().line;
  NodePtr then = parse_or();
  while (skip_name("if")) {
    auto node = std::make_unique<CondNode>();
    node->then = std::move(then);
    node->test = parse_or();
    if (skip_name("else")) node->otherwise = parse_condexpr();
    then = finish(std::move(node), line);
    line = current().line;
  }
  return then;
}

NodePtr Parser::parse_or() {
  const int line = current().line;
  NodePtr left = parse_and();
  while (skip_name("or")) left = binary(NodeKind::kOr, std::move(left), parse_and(), line);
  return left;
}

NodePtr Parser::parse_and() {
  const int line = current().line;
  NodePtr left = parse_not();
  while (skip_name("and")) left = binary(NodeKind::kAnd, std::move(left), parse_not(), line);
  return left;
}

NodePtr Parser::parse_not() {
  const Nested nested(nesting_, kMaxExpressionDepth, "expressions");
  const int line = current().line;
  if (!skip_name("not")) return parse_compare();
  return finish(std::make_unique<UnaryNode>(NodeKind::kNot, '!', parse_not()), line);
}

NodePtr Parser::parse_compare() {
  const int line = current().line;
  NodePtr first = parse_math1();
  auto node = std::make_unique<CompareNode>();
  while (true) {
    CompareOp op = CompareOp::kIn;
    if (compare_op(current(), op)) {
      take();
    } else if (is_name("not") && look().kind == TokenKind::kName && look().text == "in") {
      take();
      take();
      op = CompareOp::kNotIn;
    } else if (!skip_name("in")) {
      break;
    }
    node->rest.emplace_back(op, parse_math1());
  }
  if (node->rest.empty()) return first;
  node->first = std::move(first);
  return finish(std::move(node), line);
}

NodePtr Parser::parse_math1() {
  const int line = current().line;
  NodePtr left = parse_concat();
  while (is_op("+") || is_op("-")) {
    const BinaryOp op = take().text == "+" ? BinaryOp::kAdd : BinaryOp::kSub;
    left = binary(NodeKind::kBinary, std::move(left), parse_concat(), line);
    static_cast<BinaryNode&>(*left).op = op;
  }
  return left;
}

NodePtr Parser::parse_concat() {
  const int line = current().line;
  NodePtr first = parse_math2();
  if (!is_op("~")) return first;
  auto node = std::make_unique<ItemsNode>(NodeKind::kConcat);
  node->items.push_back(std::move(first));
  while (skip_op("~")) node->items.push_back(parse_math2());
  return finish(std::move(node), line);
}

NodePtr Parser::parse_math2() {
  const int line = current().line;
  NodePtr left = parse_pow();
  while (is_op("*") || is_op("/") || is_op("//") || is_op("%")) {
    const std::string_view sign = take().text;
    left = binary(NodeKind::kBinary, std::move(left), parse_pow(), line);
    static_cast<BinaryNode&>(*left).op = sign == "*"    ? BinaryOp::kMul
                                         : sign == "/"  ? BinaryOp::kDiv
                                         : sign == "//" ? BinaryOp::kFloorDiv
                                                        : BinaryOp::kMod;
  }
  return left;
}

NodePtr Parser::parse_pow() {
  const int line = current().line;
  NodePtr left = parse_unary();
  while (skip_op("**")) {
    left = binary(NodeKind::kBinary, std::move(left), parse_unary(), line);
    static_cast<BinaryNode&>(*left).op = BinaryOp::kPow;
  }
  return left;
}

NodePtr Parser::parse_unary(bool with_filter) {
  const Nested nested(nesting_, kMaxExpressionDepth, "expressions");
  const int line = current().line;
  NodePtr node;
  if (is_op("-") || is_op("+")) {
    const char op = take().text[0];
    node = finish(std::make_unique<UnaryNode>(NodeKind::kUnary, op, parse_unary(false)), line);
  } else {
    node = parse_primary();
  }
  node = parse_postfix(std::move(node));
  return with_filter ? parse_filter_expr(std::move(node)) : std::move(node);
}

NodePtr Parser::parse_name(bool with_namespace) {
  const Token& token = take();
  const std::string& name = token.text;
  if (name == "true" || name == "True" || name == "false" || name == "False") {
    return std::make_unique<ConstNode>(NodeKind::kConst, Value(name == "true" || name == "True"));
  }
  if (name == "none" || name == "None") return std::make_unique<ConstNode>(NodeKind::kConst, Value(None{}));
  if (with_namespace && skip_op(".")) return std::make_unique<NsRefNode>(name, expect(TokenKind::kName).text);
  return std::make_unique<NameNode>(name);
}

NodePtr Parser::parse_string() {
  std::string text;
  while (is(TokenKind::kString)) text += take().text;
  return std::make_unique<ConstNode>(NodeKind::kConst, string_value(std::move(text)));
}

NodePtr Parser::parse_primary(bool with_namespace) {
  const int line = current().line;
  if (is(TokenKind::kName)) return finish(parse_name(with_namespace), line);
  if (is(TokenKind::kString)) return finish(parse_string(), line);
  if (is(TokenKind::kInteger) || is(TokenKind::kFloat)) {
    return finish(std::make_unique<ConstNode>(NodeKind::kConst, take().number), line);
  }
  if (is_op("[")) return parse_list();
  if (is_op("{")) return parse_dict();
  if (!skip_op("(")) raise("unexpected '" + describe(current()) + "'");
  TupleMode mode;
  mode.parentheses = true;
  NodePtr node = parse_tuple(mode);
  expect_op(")");
  return node;
}

bool Parser::is_tuple_end(const TupleMode& mode) const {
  return is(TokenKind::kVariableEnd) || is(TokenKind::kBlockEnd) || is_op(")") ||
         (!mode.end_word.empty() && is_name(mode.end_word));
}

NodePtr Parser::parse_tuple(const TupleMode& mode) {
  const int line = current().line;
  auto tuple = std::make_unique<ItemsNode>(NodeKind::kTuple);
  bool is_tuple = false;
  while (true) {
    if (!tuple->items.empty()) expect_op(",");
    if (is_tuple_end(mode)) break;
    tuple->items.push_back(mode.simplified ? parse_primary(mode.with_namespace) : parse_expression(mode.with_condexpr));
    if (!is_op(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!tuple->items.empty()) return std::move(tuple->items[0]);
    if (!mode.parentheses) raise("Expected an expression, got '" + describe(current()) + "'");
  }
  return finish(std::move(tuple), line);
}

NodePtr Parser::parse_list() {
  const int line = current().line;
  expect_op("[");
  auto list = std::make_unique<ItemsNode>(NodeKind::kList);
  while (!is_op("]")) {
    if (!list->items.empty()) expect_op(",");
    if (is_op("]")) break;
    list->items.push_back(parse_expression());
  }
  expect_op("]");
  return finish(std::move(list), line);
}

NodePtr Parser::parse_dict() {
  const int line = current().line;
  expect_op("{");
  auto dict = std::make_unique<DictNode>();
  while (!is_op("}")) {
    if (!dict->entries.empty()) expect_op(",");
    if (is_op("}")) break;
    NodePtr key = parse_expression();
    expect_op(":");
    dict->entries.emplace_back(std::move(key), parse_expression());
  }
  expect_op("}");
  return finish(std::move(dict), line);
}

NodePtr Parser::parse_postfix(NodePtr node) {
  while (true) {
    if (is_op(".") || is_op("[")) {
      node = parse_subscript(std::move(node));
    } else if (is_op("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

NodePtr Parser::parse_filter_expr(NodePtr node) {
  while (true) {
    if (is_op("|")) {
      node = parse_filter(std::move(node), false);
    } else if (is_name("is")) {
      node = parse_test(std::move(node));
    } else if (is_op("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

NodePtr Parser::parse_subscript(NodePtr object) {
  const Token& token = take();
  const int line = token.line;
  if (token.text == "." && is(TokenKind::kName)) {
    auto node = std::make_unique<GetattrNode>();
    node->object = std::move(object);
    node->name = take().text;
    return finish(std::move(node), line);
  }
  auto node = std::make_unique<GetitemNode>();
  node->object = std::move(object);
  if (token.text == ".") {
    if (!is(TokenKind::kInteger)) raise("expected name or number");
    node->index = finish(std::make_unique<ConstNode>(NodeKind::kConst, take().number), line);
    return finish(std::move(node), line);
  }
  auto tuple = std::make_unique<ItemsNode>(NodeKind::kTuple);
  while (!is_op("]")) {
    if (!tuple->items.empty()) expect_op(",");
    tuple->items.push_back(parse_subscribed());
  }
  expect_op("]");
  if (tuple->items.size() == 1) {
    node->index = std::move(tuple->items[0]);
  } else {
    for (const NodePtr& item : tuple->items) {
      if (item->kind == NodeKind::kSlice) raise("invalid syntax: a slice inside a tuple subscript");
    }
    node->index = finish(std::move(tuple), line);
  }
  return finish(std::move(node), line);
}

NodePtr Parser::parse_subscribed() {
  const int line = current().line;
  auto node = std::make_unique<SliceNode>();
  if (!is_op(":")) {
    NodePtr start = parse_expression();
    if (!is_op(":")) return start;
    node->start = std::move(start);
  }
  expect_op(":");
  const auto part_follows = [&] { return !is_op("]") && !is_op(","); };
  if (!is_op(":") && part_follows()) node->stop = parse_expression();
  if (skip_op(":") && part_follows()) node->step = parse_expression();
  return finish(std::move(node), line);
}

void Parser::parse_call_arg(Arguments& out) {
  const auto ensure = [](bool valid) {
    if (!valid) raise("invalid syntax for function call expression");
  };
  if (skip_op("*")) {
    ensure(out.dyn_args == nullptr && out.dyn_kwargs == nullptr);
    out.dyn_args = parse_expression();
  } else if (skip_op("**")) {
    ensure(out.dyn_kwargs == nullptr);
    out.dyn_kwargs = parse_expression();
  } else if (is(TokenKind::kName) && look().kind == TokenKind::kOperator && look().text == "=") {
    ensure(out.dyn_kwargs == nullptr);
    const std::string key = take().text;
    take();
    const auto same = [&](const auto& kwarg) { return kwarg.first == key; };
    if (std::any_of(out.kwargs.begin(), out.kwargs.end(), same)) raise("keyword argument repeated: " + key);
    out.kwargs.emplace_back(key, parse_expression());
  } else {
    ensure(out.dyn_args == nullptr && out.dyn_kwargs == nullptr && out.kwargs.empty());
    out.args.push_back(parse_expression());
  }
}

Arguments Parser::parse_call_args() {
  expect_op("(");
  Arguments out;
  bool require_comma = false;
  while (!is_op(")")) {
    if (require_comma) {
      expect_op(",");
      if (is_op(")")) break;
    }
    parse_call_arg(out);
    require_comma = true;
  }
  expect_op(")");
  return out;
}

NodePtr Parser::parse_call(NodePtr callee) {
  const int line = current().line;
  auto node = std::make_unique<CallNode>();
  node->callee = std::move(callee);
  node->arguments = parse_call_args();
  return finish(std::move(node), line);
}

NodePtr Parser::parse_filter(NodePtr operand, bool start_inline) {
  while (is_op("|") || start_inline) {
    if (!start_inline) take();
    start_inline = false;
    const int line = current().line;
    auto node = std::make_unique<FilterNode>();
    node->operand = std::move(operand);
    node->name = expect(TokenKind::kName).text;
    while (skip_op(".")) node->name += cat({".", expect(TokenKind::kName).text});
    if (is_op("(")) node->arguments = parse_call_args();
    node->body = find_filter(node->name);
    operand = finish(std::move(node), line);
  }
  return operand;
}

bool Parser::starts_test_argument() const {
  if (is(TokenKind::kString) || is(TokenKind::kInteger) || is(TokenKind::kFloat)) return true;
  if (is_op("(") || is_op("[") || is_op("{")) return true;
  return is(TokenKind::kName) && !is_name("else") && !is_name("or") && !is_name("and");
}

NodePtr Parser::parse_test(NodePtr operand) {
  const int line = take().line;
  const bool negated = skip_name("not");
  auto node = std::make_unique<TestNode>();
  node->operand = std::move(operand);
  node->name = expect(TokenKind::kName).text;
  while (skip_op(".")) node->name += cat({".", expect(TokenKind::kName).text});
  if (is_op("(")) {
    node->arguments = parse_call_args();
  } else if (starts_test_argument()) {
    if (is_name("is")) raise("You cannot chain multiple tests with is");
    node->arguments.args.push_back(parse_postfix(parse_primary()));
  }
  node->body = find_test(node->name);
  NodePtr test = finish(std::move(node), line);
  if (!negated) return test;
  return finish(std::make_unique<UnaryNode>(NodeKind::kNot, '!', std::move(test)), line);
}

}  // namespace toccata::jinja
