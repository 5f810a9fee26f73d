#include <algorithm>

#include <boost/json.hpp>

#include "server/openai/chat_messages.h"
#include "server/openai/common_fields.h"

namespace toccata::server {
namespace json = boost::json;

namespace {

// Absent or "auto": the model decides. "none": the tools are not shown to it.
bool wants_tools(JsonFields& fields, const json::array& tools) {
  const json::value* choice = fields.find("tool_choice");
  if (choice == nullptr || (choice->is_string() && choice->get_string() == "auto")) return !tools.empty();
  if (choice->is_string() && choice->get_string() == "none") return false;
  fields.fault(unsupported_param("tool_choice", "tool_choice: only auto and none are supported"));
  return false;
}

ApiError template_error(const Error& error) {
  if (error.code == ErrorCode::kResourceExhausted) return bad_param("messages", "the chat template: " + error.message);
  ApiError e = bad_param("messages", "the model's chat template: " + error.message);
  e.code = error.code == ErrorCode::kUnsupported ? "unsupported_template" : "template_error";
  return e;
}

struct ChatInputs {
  json::array messages, tools;
  json::object variables;
  ChatPrompts::Options options;
  bool use_tools = false;
};

ChatInputs read_chat(JsonFields& fields, const TextSide& text) {
  ChatInputs in;
  in.messages = read_messages(fields, text.chat->mentions("developer"));
  in.tools = read_tools(fields);
  in.use_tools = wants_tools(fields, in.tools);
  if (const json::object* variables = fields.object("chat_template_kwargs")) in.variables = *variables;
  for (const char* name : {"messages", "tools", "bos_token", "eos_token", "add_generation_prompt"}) {
    if (in.variables.contains(name)) fields.wrong("chat_template_kwargs", std::string("without ") + name);
  }
  if (fields.find("chat_template") != nullptr) {
    fields.fault(unsupported_param("chat_template", "chat_template is the model's; a request cannot replace it"));
  }
  in.options.continue_final_message = fields.boolean("continue_final_message").value_or(false);
  in.options.add_generation_prompt =
      fields.boolean("add_generation_prompt").value_or(!in.options.continue_final_message);
  return in;
}

ApiResult<std::vector<TokenId>> encode(ChatInputs& in, const TextSide& text) {
  in.options.variables = &in.variables;
  const Result<std::vector<TokenId>> ids =
      text.chat->encode(in.messages, in.use_tools ? &in.tools : nullptr, in.options);
  if (!ids) return tl::unexpected(template_error(ids.error()));
  return *ids;
}

ApiError no_template(const TextSide& text) {
  ApiError e = bad_param("messages", text.no_chat_reason.empty() ? "the model has no chat template: use /v1/completions"
                                                                 : text.no_chat_reason);
  e.code = "no_chat_template";
  return e;
}

}  // namespace

ApiResult<std::vector<TokenId>> chat_tokens(const json::object& body, const TextSide& text) {
  if (!text.chat) return tl::unexpected(no_template(text));
  JsonFields fields(body);
  ChatInputs in = read_chat(fields, text);
  if (!fields.ok()) return tl::unexpected(fields.error());
  return encode(in, text);
}

ApiResult<ApiRequest> parse_chat(const json::object& body, const TextSide& text, const ApiLimits& limits) {
  ApiRequest request;
  request.chat = true;
  Request shared;
  JsonFields fields(body);
  read_common(fields, text, limits, request, shared);
  if (const std::optional<int64_t> most = fields.integer("max_completion_tokens", 1, INT32_MAX))
    shared.max_tokens = *most;
  const bool logprobs = fields.boolean("logprobs").value_or(false);
  const std::optional<int64_t> top = fields.integer("top_logprobs", 0, 20);
  if (top && !logprobs) fields.fault(bad_param("top_logprobs", "top_logprobs needs logprobs to be true"));
  if (logprobs) request.logprobs = static_cast<int32_t>(std::min<int64_t>(top.value_or(0), limits.vocab));
  shared.sampling.logprobs = request.logprobs;
  if (const json::array* modalities = fields.array("modalities")) {
    if (modalities->size() != 1 || modalities->front() != "text") {
      fields.fault(unsupported_param("modalities", "modalities: only text is supported"));
    }
  }
  if (!fields.ok()) return tl::unexpected(fields.error());
  if (!text.chat) return tl::unexpected(no_template(text));

  ChatInputs in = read_chat(fields, text);
  if (!fields.ok()) return tl::unexpected(fields.error());
  ApiResult<std::vector<TokenId>> ids = encode(in, text);
  if (!ids) return tl::unexpected(ids.error());
  if (ids->empty()) return tl::unexpected(bad_param("messages", "the chat template gave an empty prompt"));
  if (in.use_tools) request.tools = text.chat->tool_format();
  shared.prompt = std::move(*ids);
  request.prompts.push_back(std::move(shared));
  return request;
}

}  // namespace toccata::server
