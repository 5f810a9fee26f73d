// A conversation to the model's prompt text, with the rules of transformers' apply_chat_template (5.x) around the
// template itself.
#pragma once

#include <optional>
#include <string>

#include <boost/json/fwd.hpp>

#include "text/chat_template/chat_template.h"
#include "toccata/result.h"

namespace toccata {

struct ChatInput {
  const boost::json::array* messages = nullptr;     // objects with role, content, tool_calls, ...; not empty
  const boost::json::array* tools = nullptr;        // objects (JSON schemas), or null for none
  std::optional<std::string> bos_token, eos_token;  // absent: undefined in the template
  bool add_generation_prompt = false;
  // The text ends right after the last message's content, so that the model goes on with it.
  bool continue_final_message = false;
  const boost::json::object* variables = nullptr;  // further variables (enable_thinking, documents, ...), or null
  ChatTemplate::Clock clock;                       // empty: the system's
};

// Before rendering, keys of a message whose value is null are dropped, and reasoning_content, thinking and reasoning
// stand in for each other.
// Errors: those of ChatTemplate::render; kInvalidArgument for messages that are no objects, and when
// continue_final_message is asked for together with add_generation_prompt, with nothing to continue, or with a template
// that does not show the last message's content unchanged.
Result<std::string> render_chat(const ChatTemplate& chat_template, const ChatInput& input);

}  // namespace toccata
