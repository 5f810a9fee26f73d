// Any bytes as a chat template with a conversation: refused with one sentence, or rendered within the limits.
#include <cstdlib>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "text/chat_template/chat.h"
#include "text/chat_template/chat_template.h"

namespace {

using namespace toccata;

void require(bool condition) {
  if (!condition) std::abort();
}

const boost::json::object& conversation() {
  static const boost::json::object chat = boost::json::parse(R"({
    "messages": [{"role": "system", "content": " S\n"}, {"role": "user", "content": "Hé <b> 日本"},
                 {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": [1, 2.5, null]}}}]},
                 {"role": "tool", "content": "{}"}],
    "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object",
               "properties": {"a": {"type": "array"}}, "required": ["a"]}}}],
    "variables": {"x": 3, "y": -2.5, "s": "a,b c", "l": [3, 1, 2], "d": {"k": "v", "items": 1}, "t": true, "n": null}})")
                                              .as_object();
  return chat;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = ChatTemplate::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!parsed.has_value()) {
    require(!parsed.error().message.empty());
    return 0;
  }
  ChatInput input;
  input.messages = &conversation().at("messages").as_array();
  input.tools = &conversation().at("tools").as_array();
  input.variables = &conversation().at("variables").as_object();
  input.bos_token = "<bos>";
  input.add_generation_prompt = true;
  const auto first = render_chat(*parsed, input);
  if (!first.has_value()) require(first.error().code != ErrorCode::kInternal);
  input.add_generation_prompt = false;
  input.continue_final_message = true;
  render_chat(*parsed, input);
  return 0;
}
