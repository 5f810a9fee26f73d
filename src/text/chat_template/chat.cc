#include "text/chat_template/chat.h"

#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "text/chat_template/strftime.h"
#include "text/chat_template/unicode.h"

namespace toccata {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

constexpr std::string_view kReasoning[] = {"reasoning_content", "thinking", "reasoning"};
constexpr std::string_view kTag = "CONTINUE_FINAL_MESSAGE_TAG ";
constexpr std::string_view kBareTag = kTag.substr(0, kTag.size() - 1);

// The message without null values, its reasoning known by the names that templates read.
object normalized(const object& message) {
  object out;
  const value* reasoning = nullptr;
  for (std::string_view name : kReasoning) {
    const value* found = message.if_contains(name);
    if (reasoning == nullptr && found != nullptr && !found->is_null()) reasoning = found;
  }
  if (reasoning != nullptr) out["thinking"] = *reasoning;
  for (const auto& [key, item] : message) {
    if (!item.is_null()) out[key] = item;
  }
  if (reasoning != nullptr) out["reasoning_content"] = *reasoning;
  return out;
}

tl::unexpected<Error> refuse_continue(const std::string& reason) {
  return fail(ErrorCode::kInvalidArgument, "continue_final_message is set but " + reason);
}

// Appends the tag to the text that is to be continued; gives that text without the tag.
Result<std::string> mark_final_text(object& message) {
  value* content = message.if_contains("content");
  if (content == nullptr) return refuse_continue("the final message has no \"content\" to continue");
  if (array* blocks = content->if_array()) {
    content = nullptr;
    for (auto block = blocks->rbegin(); block != blocks->rend() && content == nullptr; ++block) {
      if (block->is_object()) content = block->get_object().if_contains("text");
    }
    if (content == nullptr) return refuse_continue("there is no text to continue in the final message");
  }
  if (!content->is_string()) return refuse_continue("the content of the final message is not text");
  std::string text(content->get_string());
  content->get_string().append(kTag);
  return text;
}

// Cuts the rendered text at the tag. A template that strips the content has removed the space at the end of the tag,
// and with it any space in front.
Result<std::string> cut_at_tag(std::string rendered, std::string_view final_text) {
  const size_t at = rendered.rfind(kBareTag);
  if (at == std::string::npos || rendered.find(jinja::strip(final_text)) == std::string::npos) {
    return refuse_continue("the final message does not appear in the chat after applying the chat template");
  }
  const bool kept_space = rendered.compare(at, kTag.size(), kTag) == 0;
  rendered.resize(at);
  if (!kept_space) rendered.resize(jinja::strip_right(rendered).size());
  return rendered;
}

Result<array> normalized_messages(const array& messages) {
  if (messages.empty()) return fail(ErrorCode::kInvalidArgument, "the conversation has no messages");
  array out;
  for (const value& message : messages) {
    if (!message.is_object()) return fail(ErrorCode::kInvalidArgument, "every message must be an object");
    out.push_back(normalized(message.get_object()));
  }
  return out;
}

}  // namespace

Result<std::string> render_chat(const ChatTemplate& chat_template, const ChatInput& input) {
  auto messages = normalized_messages(*input.messages);
  if (!messages.has_value()) return tl::unexpected(messages.error());
  std::string final_text;
  if (input.continue_final_message) {
    if (input.add_generation_prompt)
      return refuse_continue("so is add_generation_prompt: only one of them is possible");
    auto text = mark_final_text(messages->back().get_object());
    if (!text.has_value()) return text;
    if (chat_template.source().find("content") == std::string::npos) {
      return refuse_continue("the chat template does not use \"content\"");
    }
    final_text = std::move(*text);
  }
  object context;
  if (input.bos_token.has_value()) context["bos_token"] = *input.bos_token;
  if (input.eos_token.has_value()) context["eos_token"] = *input.eos_token;
  context["documents"] = nullptr;
  if (input.variables != nullptr) {
    for (const auto& [key, item] : *input.variables) context[key] = item;
  }
  context["messages"] = std::move(*messages);
  context["tools"] = nullptr;
  if (input.tools != nullptr) {
    for (const value& tool : *input.tools) {
      if (!tool.is_object()) return fail(ErrorCode::kInvalidArgument, "every tool must be an object");
    }
    context["tools"] = *input.tools;
  }
  context["add_generation_prompt"] = input.add_generation_prompt;
  auto rendered = chat_template.render(context, input.clock ? input.clock : jinja::local_time_now);
  if (!rendered.has_value() || !input.continue_final_message) return rendered;
  return cut_at_tag(std::move(*rendered), final_text);
}

}  // namespace toccata
