#include "text/chat_template/resolver.h"

#include <deque>

#include "text/chat_template/fault.h"
#include "text/chat_template/symbols.h"

namespace toccata::jinja {
namespace {

// Where code stands: its scope, its function, and what surrounds it.
struct Frame {
  Symbols* symbols;
  FunctionScope* function;
  bool in_loop = false;  // `break` and `continue` are allowed
  bool soft = false;     // inside an if: unknown filters are an error only when they are reached
};

bool assigns_loop(Node& node) {
  if (node.kind == NodeKind::kName) {
    const auto& name = static_cast<NameNode&>(node);
    return name.use == NameUse::kStore && name.name == "loop";
  }
  bool found = false;
  for_each_child(node, [&](Node& child) { found = found || assigns_loop(child); });
  return found;
}

class Resolver {
 public:
  Program run(NodeList body) {
    Program program;
    if (!find_undeclared(body, {"self"}).empty()) refuse("the variable 'self'");
    FunctionScope* function = new_function(nullptr);
    Symbols symbols(nullptr, function);
    symbols.analyze(body);
    visit(body, {&symbols, function});
    program.body = std::move(body);
    program.plan = symbols.plan();
    program.slots = size_of(*function);
    return program;
  }

 private:
  FunctionScope* new_function(FunctionScope* outer) { return &functions_.emplace_back(outer); }
  static uint16_t size_of(const FunctionScope& function) { return static_cast<uint16_t>(function.slots.size()); }

  void visit(const NodeList& nodes, const Frame& frame) {
    for (const NodePtr& node : nodes) visit(*node, frame);
  }

  void visit(Node& node, const Frame& frame) {
    try {
      visit_node(node, frame);
    } catch (Fault& fault) {
      if (fault.line == 0) fault.line = node.line;
      throw;
    }
  }

  void visit_node(Node& node, const Frame& frame) {
    switch (node.kind) {
      case NodeKind::kName: {
        auto& name = static_cast<NameNode&>(node);
        name.slot = frame.symbols->resolve(name.name, *frame.function);
        break;
      }
      case NodeKind::kNsRef: {
        auto& ref = static_cast<NsRefNode&>(node);
        ref.slot = frame.symbols->resolve(ref.name, *frame.function);
        break;
      }
      case NodeKind::kFilter:
        visit_filter(static_cast<FilterNode&>(node), frame);
        break;
      case NodeKind::kTest:
        visit_test(static_cast<TestNode&>(node), frame);
        break;
      case NodeKind::kIf:
      case NodeKind::kCond: {
        Frame soft = frame;
        soft.soft = true;
        visit_children(node, soft);
        break;
      }
      case NodeKind::kFor:
        visit_for(static_cast<ForNode&>(node), frame);
        break;
      case NodeKind::kMacro: {
        auto& macro = static_cast<MacroNode&>(node);
        visit_macro(macro.macro, frame);
        macro.slot = frame.symbols->resolve(macro.name, *frame.function);
        break;
      }
      case NodeKind::kCallBlock: {
        auto& block = static_cast<CallBlockNode&>(node);
        visit_macro(block.macro, frame);
        if (block.call != nullptr) visit(*block.call, frame);
        break;
      }
      case NodeKind::kFilterBlock:
        visit_filter_block(static_cast<FilterBlockNode&>(node), frame);
        break;
      case NodeKind::kWith:
        visit_with(static_cast<WithNode&>(node), frame);
        break;
      case NodeKind::kAssignBlock:
        visit_assign_block(static_cast<AssignBlockNode&>(node), frame);
        break;
      case NodeKind::kBreak:
      case NodeKind::kContinue:
        if (!frame.in_loop) raise("'break' or 'continue' outside loop");
        break;
      default:
        visit_children(node, frame);
        break;
    }
  }

  void visit_children(Node& node, const Frame& frame) {
    for_each_child(node, [&](Node& child) { visit(child, frame); });
  }

  void visit_filter(FilterNode& node, const Frame& frame) {
    if (node.body == nullptr && !frame.soft) refuse("the filter '" + node.name + "'");
    visit_children(node, frame);
  }

  void visit_test(TestNode& node, const Frame& frame) {
    if (node.body == nullptr && !frame.soft) refuse("the test '" + node.name + "'");
    visit_children(node, frame);
  }

  void visit_for(ForNode& node, const Frame& frame) {
    if (assigns_loop(node)) raise("Can't assign to special loop variable in for-loop target");
    node.extended = node.recursive || !find_undeclared(node.body, {"loop"}).empty();
    FunctionScope* function = node.recursive ? new_function(frame.function) : frame.function;
    Symbols body(frame.symbols, function);
    if (node.extended) node.loop_slot = body.declare_parameter("loop").seen_from(*function);
    body.analyze(*node.target, true);
    body.analyze(node.body);
    Symbols otherwise(frame.symbols, function);
    otherwise.analyze(node.otherwise);
    if (node.test != nullptr) visit_loop_test(node, frame);
    visit(*node.iter, frame);
    const Frame inside{&body, function, true};
    visit(*node.target, inside);
    visit(node.body, inside);
    visit(node.otherwise, {&otherwise, function, !node.recursive && frame.in_loop});
    node.body_plan = body.plan();
    node.else_plan = otherwise.plan();
    node.loop_slots = size_of(*function);
  }

  void visit_loop_test(ForNode& node, const Frame& frame) {
    FunctionScope* function = new_function(frame.function);
    Symbols symbols(frame.symbols, function);
    symbols.analyze(*node.test_target, true);
    symbols.analyze(*node.test);
    const Frame inside{&symbols, function};
    visit(*node.test_target, inside);
    visit(*node.test, inside);
    node.test_plan = symbols.plan();
    node.test_slots = size_of(*function);
  }

  static void analyze_macro(MacroBody& macro, Symbols& symbols) {
    for (const auto& arg : macro.args) symbols.analyze(*arg);
    symbols.analyze(macro.defaults);
    symbols.analyze(macro.body);
  }

  void visit_macro(MacroBody& macro, const Frame& frame) {
    FunctionScope* function = new_function(frame.function);
    Symbols symbols(frame.symbols, function);
    analyze_macro(macro, symbols);
    declare_special(macro, symbols, *function);
    analyze_macro(macro, symbols);
    const Frame inside{&symbols, function};
    for (const auto& arg : macro.args) visit(*arg, inside);
    visit(macro.defaults, inside);
    visit(macro.body, inside);
    macro.plan = symbols.plan();
    macro.slots = size_of(*function);
  }

  // The hidden parameters caller, kwargs and varargs exist where the body reads them.
  static void declare_special(MacroBody& macro, Symbols& symbols, const FunctionScope& function) {
    const auto is_arg = [&](std::string_view name) {
      for (size_t i = 0; i < macro.args.size(); ++i) {
        if (macro.args[i]->name == name) return static_cast<long>(i);
      }
      return -1L;
    };
    const auto undeclared = find_undeclared(macro.body, {"caller", "kwargs", "varargs"});
    macro.uses_caller = undeclared.count("caller") != 0;
    if (macro.uses_caller && is_arg("caller") < 0) {
      macro.caller_slot = symbols.declare_parameter("caller").seen_from(function);
    } else if (macro.uses_caller) {
      const auto without_default = static_cast<long>(macro.args.size() - macro.defaults.size());
      if (is_arg("caller") < without_default) raise("the special \"caller\" argument must be given a default");
    }
    if (undeclared.count("kwargs") != 0 && is_arg("kwargs") < 0) {
      macro.kwargs_slot = symbols.declare_parameter("kwargs").seen_from(function);
      macro.uses_kwargs = true;
    }
    if (undeclared.count("varargs") != 0 && is_arg("varargs") < 0) {
      macro.varargs_slot = symbols.declare_parameter("varargs").seen_from(function);
      macro.uses_varargs = true;
    }
  }

  void visit_filter_block(FilterBlockNode& node, const Frame& frame) {
    Symbols symbols(frame.symbols, frame.function);
    symbols.analyze(node.body);
    symbols.analyze(*node.filter);
    const Frame inside{&symbols, frame.function, frame.in_loop};
    visit(node.body, inside);
    visit(*node.filter, inside);
    node.plan = symbols.plan();
  }

  void visit_with(WithNode& node, const Frame& frame) {
    Symbols symbols(frame.symbols, frame.function);
    symbols.analyze(node.targets);
    symbols.analyze(node.body);
    const Frame inside{&symbols, frame.function, frame.in_loop};
    visit(node.targets, inside);
    visit(node.values, frame);
    visit(node.body, inside);
    node.plan = symbols.plan();
  }

  void visit_assign_block(AssignBlockNode& node, const Frame& frame) {
    Symbols symbols(frame.symbols, frame.function);
    symbols.analyze(node.body);
    const Frame inside{&symbols, frame.function, frame.in_loop};
    visit(node.body, inside);
    visit(*node.target, frame);
    if (node.filter != nullptr) visit(*node.filter, inside);
    node.plan = symbols.plan();
  }

  std::deque<FunctionScope> functions_;
};

}  // namespace

Program resolve_names(NodeList body) { return Resolver().run(std::move(body)); }

}  // namespace toccata::jinja
