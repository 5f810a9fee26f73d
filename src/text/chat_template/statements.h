// The statements of the syntax tree.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "text/chat_template/ast.h"

namespace toccata::jinja {

struct ForNode : Node {
  ForNode() : Node(NodeKind::kFor) {}
  NodePtr target, iter, test;
  NodePtr test_target;  // the target once more, in the function that runs the test
  NodeList body, otherwise;
  bool recursive = false;
  bool extended = false;  // the body reads `loop`
  SlotRef loop_slot;
  uint16_t test_slots = 0, loop_slots = 0;  // sizes of the activations of the test and of a recursive loop
  FramePlan body_plan, else_plan, test_plan;
};

struct IfNode : Node {
  IfNode() : Node(NodeKind::kIf) {}
  NodePtr test;
  NodeList body;
  NodeList elifs;  // IfNodes without elifs of their own
  NodeList otherwise;
};

struct MacroBody {  // shared by macros and call blocks
  std::vector<std::unique_ptr<NameNode>> args;
  NodeList defaults;  // of the last arguments
  NodeList body;
  bool uses_caller = false, uses_kwargs = false, uses_varargs = false;
  SlotRef caller_slot, kwargs_slot, varargs_slot;
  uint16_t slots = 0;
  FramePlan plan;
};

struct MacroNode : Node {
  MacroNode() : Node(NodeKind::kMacro) {}
  std::string name;
  SlotRef slot;
  MacroBody macro;
};

struct CallBlockNode : Node {  // {% call %}, and {% generation %} whose call is null
  CallBlockNode() : Node(NodeKind::kCallBlock) {}
  NodePtr call;
  MacroBody macro;
};

struct FilterBlockNode : Node {
  FilterBlockNode() : Node(NodeKind::kFilterBlock) {}
  NodeList body;
  NodePtr filter;
  FramePlan plan;
};

struct WithNode : Node {
  WithNode() : Node(NodeKind::kWith) {}
  NodeList targets, values, body;
  FramePlan plan;
};

struct AssignNode : Node {
  AssignNode() : Node(NodeKind::kAssign) {}
  NodePtr target, value;
};

struct AssignBlockNode : Node {
  AssignBlockNode() : Node(NodeKind::kAssignBlock) {}
  NodePtr target, filter;  // filter may be null
  NodeList body;
  FramePlan plan;
};

struct PlainNode : Node {  // kBreak, kContinue
  explicit PlainNode(NodeKind k) : Node(k) {}
};

// A template, ready to run.
struct Program {
  NodeList body;
  FramePlan plan;
  uint16_t slots = 0;
};

}  // namespace toccata::jinja
