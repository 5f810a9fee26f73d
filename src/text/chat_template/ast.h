// Syntax tree of a template. Node names and the order of children follow jinja2's nodes.py, because its name
// resolution (symbols.h) depends on that order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/chat_template/number.h"
#include "text/chat_template/objects.h"
#include "text/chat_template/ops.h"

namespace toccata::jinja {

enum class NodeKind : uint8_t {
  kName,
  kNsRef,
  kConst,
  kData,
  kTuple,
  kList,
  kConcat,
  kDict,
  kUnary,
  kNot,
  kBinary,
  kAnd,
  kOr,
  kCompare,
  kCond,
  kCall,
  kFilter,
  kTest,
  kGetattr,
  kGetitem,
  kSlice,
  kOutput,
  kFor,
  kIf,
  kMacro,
  kCallBlock,
  kFilterBlock,
  kWith,
  kAssign,
  kAssignBlock,
  kBreak,
  kContinue,
};

struct Node {
  const NodeKind kind;
  int line = 0;
  int depth = 1;  // levels of expressions below, bounded by the parser
  explicit Node(NodeKind k) : kind(k) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node() = default;
};
using NodePtr = std::unique_ptr<Node>;
using NodeList = std::vector<NodePtr>;

// A local variable: so many activations outwards, then that slot.
struct SlotRef {
  uint16_t hops = 0;
  uint16_t slot = 0;
};

// What happens to the local variables of a scope when it is entered; all of them are unbound when it is left.
struct FramePlan {
  enum class Action : uint8_t { kParameter, kResolve, kAlias, kUnbound };
  struct Load {
    uint16_t slot = 0;
    Action action = Action::kUnbound;
    SlotRef from;      // kAlias: the variable of an outer scope to start with
    std::string name;  // kResolve: the name in the rendering context
  };
  std::vector<Load> loads;
};

enum class NameUse : uint8_t { kLoad, kStore, kParameter };

struct NameNode : Node {
  explicit NameNode(std::string n) : Node(NodeKind::kName), name(std::move(n)) {}
  std::string name;
  NameUse use = NameUse::kLoad;
  SlotRef slot;
};

struct NsRefNode : Node {  // name.attr as an assignment target
  NsRefNode(std::string n, std::string a) : Node(NodeKind::kNsRef), name(std::move(n)), attr(std::move(a)) {}
  std::string name, attr;
  SlotRef slot;
};

struct ConstNode : Node {  // kConst, kData
  ConstNode(NodeKind k, Value v) : Node(k), value(std::move(v)) {}
  Value value;
};

struct ItemsNode : Node {  // kTuple, kList, kConcat, kOutput
  explicit ItemsNode(NodeKind k) : Node(k) {}
  NodeList items;
};

struct DictNode : Node {
  DictNode() : Node(NodeKind::kDict) {}
  std::vector<std::pair<NodePtr, NodePtr>> entries;
};

struct UnaryNode : Node {  // kUnary with op '-' or '+', kNot
  UnaryNode(NodeKind k, char o, NodePtr e) : Node(k), op(o), operand(std::move(e)) {}
  char op;
  NodePtr operand;
};

struct BinaryNode : Node {  // kBinary, kAnd, kOr
  BinaryNode(NodeKind k, NodePtr l, NodePtr r) : Node(k), left(std::move(l)), right(std::move(r)) {}
  BinaryOp op = BinaryOp::kAdd;
  NodePtr left, right;
};

struct CompareNode : Node {
  CompareNode() : Node(NodeKind::kCompare) {}
  NodePtr first;
  std::vector<std::pair<CompareOp, NodePtr>> rest;
};

struct CondNode : Node {
  CondNode() : Node(NodeKind::kCond) {}
  NodePtr test, then, otherwise;  // otherwise may be null
};

struct Arguments {
  NodeList args;
  std::vector<std::pair<std::string, NodePtr>> kwargs;
  NodePtr dyn_args, dyn_kwargs;  // *x and **x, may be null
};

struct CallNode : Node {
  CallNode() : Node(NodeKind::kCall) {}
  NodePtr callee;
  Arguments arguments;
};

using FilterBody = Value (*)(Interpreter&, const Value&, Args&);
using TestBody = bool (*)(Interpreter&, const Value&, Args&);

struct FilterNode : Node {
  FilterNode() : Node(NodeKind::kFilter) {}
  NodePtr operand;  // null: the text of the enclosing block
  std::string name;
  Arguments arguments;
  FilterBody body = nullptr;  // null: not a filter of jinja2; an error when it is reached
};

struct TestNode : Node {
  TestNode() : Node(NodeKind::kTest) {}
  NodePtr operand;
  std::string name;
  Arguments arguments;
  TestBody body = nullptr;
};

struct GetattrNode : Node {
  GetattrNode() : Node(NodeKind::kGetattr) {}
  NodePtr object;
  std::string name;
};

struct GetitemNode : Node {
  GetitemNode() : Node(NodeKind::kGetitem) {}
  NodePtr object, index;
};

struct SliceNode : Node {
  SliceNode() : Node(NodeKind::kSlice) {}
  NodePtr start, stop, step;  // any may be null
};

// Calls `visit` for each direct child, in jinja2's field order.
void for_each_child(Node& node, const std::function<void(Node&)>& visit);

}  // namespace toccata::jinja
