#include "text/chat_template/parser.h"

#include <algorithm>

#include "text/chat_template/fault.h"
#include "text/chat_template/limits.h"
#include "text/chat_template/parser_impl.h"

namespace toccata::jinja {
namespace {

bool can_assign(const Node& node) {
  if (node.kind == NodeKind::kNsRef || node.kind == NodeKind::kName) return true;  // none, true, ... are constants
  if (node.kind != NodeKind::kTuple) return false;
  const auto& items = static_cast<const ItemsNode&>(node).items;
  return std::all_of(items.begin(), items.end(), [](const NodePtr& item) { return can_assign(*item); });
}

void set_use(Node& node, NameUse use) {
  if (node.kind == NodeKind::kName) static_cast<NameNode&>(node).use = use;
  for_each_child(node, [use](Node& child) { set_use(child, use); });
}

bool is_reserved(std::string_view name) {
  constexpr std::string_view kReserved[] = {"true", "false", "none", "True", "False", "None"};
  return std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved);
}

// Names and tuples of names only.
NodePtr clone_target(const Node& node) {
  if (node.kind == NodeKind::kName) {
    auto copy = std::make_unique<NameNode>(static_cast<const NameNode&>(node).name);
    copy->use = static_cast<const NameNode&>(node).use;
    copy->line = node.line;
    return copy;
  }
  auto copy = std::make_unique<ItemsNode>(NodeKind::kTuple);
  copy->line = node.line;
  for (const NodePtr& item : static_cast<const ItemsNode&>(node).items) copy->items.push_back(clone_target(*item));
  return copy;
}

}  // namespace

Parser::Nested::Nested(int& depth, int limit, std::string_view what) : depth_(depth) {
  if (++depth_ > limit) {
    --depth_;
    refuse(std::string(what) + " nested deeper than " + std::to_string(limit));
  }
}

bool Parser::skip_op(std::string_view op) {
  if (!is_op(op)) return false;
  take();
  return true;
}

bool Parser::skip_name(std::string_view name) {
  if (!is_name(name)) return false;
  take();
  return true;
}

void Parser::unexpected(const std::string& expected) const {
  if (is(TokenKind::kEnd)) raise("unexpected end of template, expected '" + expected + "'.");
  raise("expected token '" + expected + "', got '" + describe(current()) + "'");
}

Token Parser::expect(TokenKind kind) {
  if (!is(kind)) {
    Token wanted;
    wanted.kind = kind;
    unexpected(kind == TokenKind::kName ? "name" : describe(wanted));
  }
  return take();
}

void Parser::expect_op(std::string_view op) {
  if (!skip_op(op)) unexpected(std::string(op));
}

void Parser::expect_name(std::string_view name) {
  if (!skip_name(name)) unexpected(std::string(name));
}

NodeList Parser::parse_all() {
  NodeList body = parse_body({});
  return body;
}

NodeList Parser::parse_body(std::initializer_list<std::string_view> end_words) {
  const Nested nested(block_nesting_, kMaxBlockDepth, "blocks");
  NodeList body;
  std::unique_ptr<ItemsNode> output;
  const auto add = [&](NodePtr node) {
    if (output == nullptr) output = std::make_unique<ItemsNode>(NodeKind::kOutput);
    if (output->items.empty()) output->line = node->line;
    output->items.push_back(std::move(node));
  };
  const auto flush = [&] {
    if (output != nullptr) body.push_back(std::move(output));
    output = nullptr;
  };
  while (!is(TokenKind::kEnd)) {
    const int line = current().line;
    if (is(TokenKind::kData)) {
      add(finish(std::make_unique<ConstNode>(NodeKind::kData, Value(Str(take().text))), line));
    } else if (is(TokenKind::kVariableBegin)) {
      take();
      add(parse_tuple({}));
      expect(TokenKind::kVariableEnd);
    } else {
      flush();
      expect(TokenKind::kBlockBegin);
      if (is(TokenKind::kName) && std::find(end_words.begin(), end_words.end(), current().text) != end_words.end()) {
        return body;
      }
      body.push_back(parse_statement());
      expect(TokenKind::kBlockEnd);
    }
  }
  flush();
  return body;
}

NodeList Parser::parse_statements(std::initializer_list<std::string_view> end_words, bool drop_end) {
  skip_op(":");
  expect(TokenKind::kBlockEnd);
  NodeList body = parse_body(end_words);
  if (is(TokenKind::kEnd)) {
    std::string expected;
    for (std::string_view word : end_words) expected += (expected.empty() ? "'" : " or '") + std::string(word) + "'";
    raise("Unexpected end of template. Jinja was looking for the following tags: " + expected + ".");
  }
  if (drop_end) take();
  return body;
}

NodePtr Parser::parse_statement() {
  if (!is(TokenKind::kName)) raise("tag name expected");
  constexpr std::pair<std::string_view, NodePtr (Parser::*)()> kTags[] = {
      {"for", &Parser::parse_for},
      {"if", &Parser::parse_if},
      {"set", &Parser::parse_set},
      {"with", &Parser::parse_with},
      {"macro", &Parser::parse_macro},
      {"call", &Parser::parse_call_block},
      {"print", &Parser::parse_print},
      {"filter", &Parser::parse_filter_block},
      {"break", &Parser::parse_loop_control},
      {"continue", &Parser::parse_loop_control},
      {"generation", &Parser::parse_generation},
  };
  const std::string& tag = current().text;
  const int line = current().line;
  const auto* entry = std::find_if(std::begin(kTags), std::end(kTags), [&](const auto& e) { return e.first == tag; });
  if (entry == std::end(kTags)) {
    if (tag.rfind("end", 0) == 0 || tag == "else" || tag == "elif") raise("Encountered unknown tag '" + tag + "'.");
    refuse("the tag '" + tag + "'");
  }
  NodePtr node = (this->*entry->second)();
  node->line = line;
  return node;
}

NodePtr Parser::parse_assign_target(const TupleMode& mode, NameUse use) {
  NodePtr target = parse_tuple(mode);
  if (!can_assign(*target)) raise("can't assign to this expression");
  set_use(*target, use);
  return target;
}

std::unique_ptr<NameNode> Parser::parse_name_target() {
  const int line = current().line;
  auto node = std::make_unique<NameNode>(expect(TokenKind::kName).text);
  if (is_reserved(node->name)) raise("can't assign to 'name'");
  node->line = line;
  node->use = NameUse::kStore;
  return node;
}

NodePtr Parser::parse_set() {
  take();
  TupleMode mode;
  mode.simplified = true;
  mode.with_namespace = true;
  NodePtr target = parse_assign_target(mode, NameUse::kStore);
  if (skip_op("=")) {
    auto node = std::make_unique<AssignNode>();
    node->target = std::move(target);
    node->value = parse_tuple({});
    return node;
  }
  auto node = std::make_unique<AssignBlockNode>();
  node->target = std::move(target);
  node->filter = parse_filter(nullptr, false);
  node->body = parse_statements({"endset"}, true);
  return node;
}

NodePtr Parser::parse_for() {
  take();
  auto node = std::make_unique<ForNode>();
  TupleMode target_mode;
  target_mode.simplified = true;
  target_mode.end_word = "in";
  node->target = parse_assign_target(target_mode, NameUse::kStore);
  expect_name("in");
  TupleMode iter_mode;
  iter_mode.with_condexpr = false;
  iter_mode.end_word = "recursive";
  node->iter = parse_tuple(iter_mode);
  if (skip_name("if")) {
    node->test = parse_expression();
    node->test_target = clone_target(*node->target);
  }
  node->recursive = skip_name("recursive");
  node->body = parse_statements({"endfor", "else"}, false);
  if (take().text == "else") node->otherwise = parse_statements({"endfor"}, true);
  return node;
}

NodePtr Parser::parse_if() {
  auto result = std::make_unique<IfNode>();
  IfNode* branch = result.get();
  TupleMode mode;
  mode.with_condexpr = false;
  while (true) {
    const int line = take().line;  // if or elif
    branch->line = line;
    branch->test = parse_tuple(mode);
    branch->body = parse_statements({"elif", "else", "endif"}, false);
    if (!is_name("elif")) break;
    auto elif = std::make_unique<IfNode>();
    branch = elif.get();
    result->elifs.push_back(std::move(elif));
  }
  if (take().text == "else") result->otherwise = parse_statements({"endif"}, true);
  return result;
}

NodePtr Parser::parse_with() {
  take();
  auto node = std::make_unique<WithNode>();
  TupleMode mode;
  mode.simplified = true;
  while (!is(TokenKind::kBlockEnd)) {
    if (!node->targets.empty()) expect_op(",");
    node->targets.push_back(parse_assign_target(mode, NameUse::kParameter));
    expect_op("=");
    node->values.push_back(parse_expression());
  }
  node->body = parse_statements({"endwith"}, true);
  return node;
}

void Parser::parse_signature(MacroBody& macro) {
  expect_op("(");
  while (!is_op(")")) {
    if (!macro.args.empty()) expect_op(",");
    auto arg = parse_name_target();
    arg->use = NameUse::kParameter;
    for (const auto& other : macro.args) {
      if (other->name == arg->name) raise("duplicate argument '" + arg->name + "' in function definition");
    }
    if (skip_op("=")) {
      macro.defaults.push_back(parse_expression());
    } else if (!macro.defaults.empty()) {
      raise("non-default argument follows default argument");
    }
    macro.args.push_back(std::move(arg));
  }
  expect_op(")");
}

NodePtr Parser::parse_macro() {
  take();
  auto node = std::make_unique<MacroNode>();
  node->name = parse_name_target()->name;
  parse_signature(node->macro);
  node->macro.body = parse_statements({"endmacro"}, true);
  return node;
}

NodePtr Parser::parse_call_block() {
  take();
  auto node = std::make_unique<CallBlockNode>();
  if (is_op("(")) parse_signature(node->macro);
  node->call = parse_expression();
  if (node->call->kind != NodeKind::kCall) raise("expected call");
  node->macro.body = parse_statements({"endcall"}, true);
  return node;
}

NodePtr Parser::parse_generation() {
  take();
  auto node = std::make_unique<CallBlockNode>();
  node->macro.body = parse_statements({"endgeneration"}, true);
  return node;
}

NodePtr Parser::parse_filter_block() {
  take();
  auto node = std::make_unique<FilterBlockNode>();
  node->filter = parse_filter(nullptr, true);
  node->body = parse_statements({"endfilter"}, true);
  return node;
}

NodePtr Parser::parse_loop_control() {
  return std::make_unique<PlainNode>(take().text == "break" ? NodeKind::kBreak : NodeKind::kContinue);
}

NodePtr Parser::parse_print() {
  take();
  auto node = std::make_unique<ItemsNode>(NodeKind::kOutput);
  while (!is(TokenKind::kBlockEnd)) {
    if (!node->items.empty()) expect_op(",");
    node->items.push_back(parse_expression());
  }
  return node;
}

NodeList parse_template(std::string_view source) {
  Parser parser(tokenize(source));
  try {
    return parser.parse_all();
  } catch (Fault& fault) {
    if (fault.line == 0) fault.line = parser.line();
    throw;
  }
}

}  // namespace toccata::jinja
