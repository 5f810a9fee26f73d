// Finds tool calls in an answer while it streams: text that is certainly none goes on at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/chat_prompt.h"

namespace toccata::server {

struct ToolCall {
  std::string name;
  std::string arguments;  // a JSON text
};

// Hermes: <tool_call>{"name", "arguments"}</tool_call>, any number of them. Mistral: [TOOL_CALLS][{...}, ...]. Llama 3:
// the whole answer is {"name", "parameters"}, after <|python_tag|> or not. What looks like a call and is none stays
// text.
class ToolCallParser {
 public:
  explicit ToolCallParser(ToolFormat format) : format_(format) {}

  struct Output {
    std::string text;
    std::vector<ToolCall> calls;
  };
  Output push(std::string_view text);
  // A control token that begins calls was generated; such tokens have no text.
  Output marker();
  Output finish();
  bool any() const { return found_; }

 private:
  void scan(Output& out, bool last);
  void scan_hermes(Output& out, bool last);
  bool open_hermes(Output& out, bool last);
  void scan_json(Output& out, bool last);

  ToolFormat format_;
  std::string pending_;
  std::string space_;     // before the opening mark
  bool inside_ = false;   // after the opening mark
  bool at_start_ = true;  // nothing but white space came yet
  bool blank_ = true;     // nothing but white space came yet, or since the last call
  bool found_ = false;
};

// The control token that begins calls in this format; empty: none.
std::string_view tool_marker(ToolFormat format);

}  // namespace toccata::server
