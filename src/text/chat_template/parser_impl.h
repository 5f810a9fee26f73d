// The recursive-descent parser behind parser.h; expressions are in parser_expression.cc, statements in parser.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/chat_template/lexer.h"
#include "text/chat_template/statements.h"

namespace toccata::jinja {

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
  NodeList parse_all();
  int line() const { return current().line; }

 private:
  struct TupleMode {
    bool simplified = false;  // names and literals only
    bool with_condexpr = true;
    bool parentheses = false;  // an empty tuple is allowed
    bool with_namespace = false;
    std::string_view end_word = {};  // this name ends the tuple, too
  };
  class Nested;  // counts the depth of the descent

  // Token stream.
  const Token& current() const { return tokens_[at_]; }
  const Token& look() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  const Token& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool is(TokenKind kind) const { return current().kind == kind; }
  bool is_op(std::string_view op) const { return is(TokenKind::kOperator) && current().text == op; }
  bool is_name(std::string_view name) const { return is(TokenKind::kName) && current().text == name; }
  bool skip_op(std::string_view op);
  bool skip_name(std::string_view name);
  Token expect(TokenKind kind);
  void expect_op(std::string_view op);
  void expect_name(std::string_view name);
  [[noreturn]] void unexpected(const std::string& expected) const;

  // Expressions.
  NodePtr parse_expression(bool with_condexpr = true);
  NodePtr parse_condexpr();
  NodePtr parse_or();
  NodePtr parse_and();
  NodePtr parse_not();
  NodePtr parse_compare();
  NodePtr parse_math1();
  NodePtr parse_concat();
  NodePtr parse_math2();
  NodePtr parse_pow();
  NodePtr parse_unary(bool with_filter = true);
  NodePtr parse_primary(bool with_namespace = false);
  NodePtr parse_name(bool with_namespace);
  NodePtr parse_string();
  NodePtr parse_tuple(const TupleMode& mode);
  NodePtr parse_list();
  NodePtr parse_dict();
  NodePtr parse_postfix(NodePtr node);
  NodePtr parse_filter_expr(NodePtr node);
  NodePtr parse_subscript(NodePtr object);
  NodePtr parse_subscribed();
  NodePtr parse_call(NodePtr callee);
  Arguments parse_call_args();
  void parse_call_arg(Arguments& arguments);
  NodePtr parse_filter(NodePtr operand, bool start_inline);
  NodePtr parse_test(NodePtr operand);
  bool is_tuple_end(const TupleMode& mode) const;
  bool starts_test_argument() const;
  // Sets the depth of a complete node; faults when the expression is nested too deeply.
  NodePtr finish(NodePtr node, int line) const;
  NodePtr binary(NodeKind kind, NodePtr left, NodePtr right, int line) const;

  // Statements.
  NodeList parse_body(std::initializer_list<std::string_view> end_words);
  NodeList parse_statements(std::initializer_list<std::string_view> end_words, bool drop_end);
  NodePtr parse_statement();
  NodePtr parse_for();
  NodePtr parse_if();
  NodePtr parse_set();
  NodePtr parse_with();
  NodePtr parse_macro();
  NodePtr parse_call_block();
  NodePtr parse_generation();
  NodePtr parse_filter_block();
  NodePtr parse_loop_control();
  NodePtr parse_print();
  NodePtr parse_assign_target(const TupleMode& mode, NameUse use);
  std::unique_ptr<NameNode> parse_name_target();
  void parse_signature(MacroBody& macro);

  const std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
  int block_nesting_ = 0;
};

class Parser::Nested {
 public:
  explicit Nested(int& depth, int limit, std::string_view what);
  ~Nested() { --depth_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  int& depth_;
};

}  // namespace toccata::jinja
