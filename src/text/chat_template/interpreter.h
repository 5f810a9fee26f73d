// Runs a resolved template once.
#pragma once

#include <functional>
#include <string>

#include <boost/json/fwd.hpp>

#include "text/chat_template/activation.h"
#include "text/chat_template/builtins.h"
#include "text/chat_template/heap.h"
#include "text/chat_template/loop.h"
#include "text/chat_template/statements.h"
#include "text/chat_template/strftime.h"

namespace toccata::jinja {

class Interpreter {
 public:
  using Clock = std::function<LocalTime()>;
  Interpreter(const Program& program, Heap& heap, Clock clock)
      : program_(program), heap_(heap), clock_(std::move(clock)) {}

  // The text of the template; faults on any error of the template or when a limit is hit.
  std::string render(const boost::json::object& context);

  // For builtins.
  Heap& heap() { return heap_; }
  LocalTime local_time() const { return clock_(); }
  Value call(const Value& callee, Args& args);
  Value call_filter(const std::string& name, const Value& input, Args args);
  bool call_test(const std::string& name, const Value& input, Args args);

 private:
  enum class Flow { kNext, kBreak, kContinue };

  // Statements (interpreter.cc).
  Flow exec(const NodeList& nodes, Activation& a);
  Flow exec_node(const Node& node, Activation& a);
  void exec_output(const ItemsNode& node, Activation& a);
  Flow exec_if(const IfNode& node, Activation& a);
  void exec_assign(const AssignNode& node, Activation& a);
  Flow exec_assign_block(const AssignBlockNode& node, Activation& a);
  Flow exec_filter_block(const FilterBlockNode& node, Activation& a);
  Flow exec_with(const WithNode& node, Activation& a);
  void exec_call_block(const CallBlockNode& node, Activation& a);
  void assign(const Node& target, const Value& value, Activation& a);
  void check_namespaces(const Node& target, Activation& a);
  void write(std::string_view text);
  void write_value(const Value& value);  // must be text already
  // Runs `body` with its output redirected into `text`.
  Flow capture(const NodeList& body, Activation& a, std::string& text);
  void enter(const FramePlan& plan, Activation& a);
  static void leave(const FramePlan& plan, Activation& a);
  Value resolve(const std::string& name);

  // Loops and macros (calls.cc).
  Flow exec_for(const ForNode& node, Activation& a);
  // `local` holds the loop's variables, `definition` is the activation in which the loop stands.
  Flow run_loop(const ForNode& node, Activation& local, Activation& definition, const Value& iterable, int depth0);
  Value filtered(const ForNode& node, Activation& definition, const Value& iterable);
  Value render_recursive(const ForNode& node, Activation& definition, const Value& iterable, int depth0);
  Value call_macro(const Macro& macro, Args& args);
  Value call_loop(const Loop& loop, Args& args);
  class CallDepth;

  // Expressions (evaluate.cc).
  Value eval(const Node& node, Activation& a);
  Value eval_name(const NameNode& node, Activation& a);
  Value eval_items(const ItemsNode& node, Activation& a);
  Value eval_dict(const DictNode& node, Activation& a);
  Value eval_concat(const ItemsNode& node, Activation& a);
  Value eval_compare(const CompareNode& node, Activation& a);
  Value eval_cond(const CondNode& node, Activation& a);
  Value eval_filter(const FilterNode& node, Activation& a);
  Value eval_test(const TestNode& node, Activation& a);
  Value eval_getitem(const GetitemNode& node, Activation& a);
  Args eval_arguments(const Arguments& arguments, Activation& a);
  static Value& slot(const SlotRef& ref, Activation& a);

  const Program& program_;
  Heap& heap_;
  const Clock clock_;
  Dict* context_ = nullptr;
  Dict* globals_ = nullptr;  // those used so far
  std::string output_;
  std::string* out_ = &output_;
  size_t written_ = 0;
  int call_depth_ = 0;
  Value block_text_;  // what a filter without operand works on
};

// Faults for names that transformers' namespace rejects.
void check_namespace_name(const Value& name);
Value dict_from_keys(Interpreter& in, Args& args);

}  // namespace toccata::jinja
