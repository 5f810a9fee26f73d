#include "server/openai/answer_json.h"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>

#include "text/tokenizer/utf8_runs.h"

namespace toccata::server {
namespace json = boost::json;

namespace {

json::array bytes_of(std::string_view text) {
  json::array bytes;
  bytes.reserve(text.size());
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

json::object entry(int32_t token, float logprob, const Tokenizer& tokenizer) {
  const std::string_view bytes = tokenizer.token_bytes(token);
  return {{"token", to_valid_utf8(bytes)}, {"logprob", finite_logprob(logprob)}, {"bytes", bytes_of(bytes)}};
}

int64_t characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

}  // namespace

double finite_logprob(float logprob) {
  if (!std::isfinite(logprob)) return -9999.0;
  return std::min(0.0, static_cast<double>(logprob));
}

json::object answer_object(const AnswerHead& head) {
  const char* object = head.chat ? (head.stream ? "chat.completion.chunk" : "chat.completion") : "text_completion";
  return {{"id", head.id}, {"object", object}, {"created", head.created}, {"model", head.model}};
}

json::object usage_object(const Usage& usage) {
  json::object o{{"prompt_tokens", usage.prompt_tokens},
                 {"completion_tokens", usage.completion_tokens},
                 {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
                 {"prompt_tokens_details", json::object{{"cached_tokens", usage.cached_tokens}}}};
  if (usage.drafted_tokens > 0) {
    o["completion_tokens_details"] =
        json::object{{"accepted_prediction_tokens", usage.accepted_tokens},
                     {"rejected_prediction_tokens", usage.drafted_tokens - usage.accepted_tokens}};
  }
  if (usage.kv_evicts) {
    o["kv_cache"] = json::object{
        {"tokens", usage.kv_tokens}, {"evicted_tokens", usage.kv_evicted_tokens}, {"bytes", usage.kv_bytes}};
  }
  return o;
}

json::value finish_value(FinishReason reason, bool tool_calls) {
  switch (reason) {
    case FinishReason::kStop:
      return tool_calls ? "tool_calls" : "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kTimeout:
      return "timeout";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      break;
  }
  return "error";
}

json::object chat_logprobs(std::span<const TokenOutput> tokens, const Tokenizer& tokenizer) {
  json::array content;
  for (const TokenOutput& t : tokens) {
    json::object o = entry(t.token, t.logprob, tokenizer);
    json::array top;
    for (const TokenChoice& c : t.top) top.push_back(entry(c.token, c.logprob, tokenizer));
    o["top_logprobs"] = std::move(top);
    if (t.drafted) o["drafted"] = true;
    content.push_back(std::move(o));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

json::object completion_logprobs(std::span<const TokenOutput> tokens, const Tokenizer& tokenizer, int64_t& offset,
                                 size_t without) {
  json::array texts, logprobs, tops, offsets;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const TokenOutput& t = tokens[i];
    const std::string text = to_valid_utf8(tokenizer.token_bytes(t.token));
    offsets.push_back(offset);
    offset += characters(text);
    texts.push_back(json::value(text));
    if (i < without) {
      logprobs.push_back(nullptr);
      tops.push_back(nullptr);
      continue;
    }
    logprobs.push_back(finite_logprob(t.logprob));
    json::object top;  // two tokens may have the same text: the likelier one stays
    for (const TokenChoice& c : t.top)
      top.emplace(to_valid_utf8(tokenizer.token_bytes(c.token)), finite_logprob(c.logprob));
    tops.push_back(std::move(top));
  }
  return {{"tokens", std::move(texts)},
          {"token_logprobs", std::move(logprobs)},
          {"top_logprobs", std::move(tops)},
          {"text_offset", std::move(offsets)}};
}

json::object tool_call_object(const ToolCall& call, const std::string& id, int64_t index, bool stream) {
  json::object o;
  if (stream) o["index"] = index;
  o["id"] = id;
  o["type"] = "function";
  o["function"] = json::object{{"name", call.name}, {"arguments", call.arguments}};
  return o;
}

}  // namespace toccata::server
