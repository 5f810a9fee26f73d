// Requests of /v1/completions and /v1/chat/completions, checked and turned into requests to the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "server/api_error.h"
#include "server/text_side.h"
#include "toccata/request.h"

namespace toccata::server {

struct ApiRequest {
  bool chat = false;
  std::string model;             // as the client named it, or the first served name
  std::vector<Request> prompts;  // one per prompt; choices() requests are made of each
  int64_t n = 1;                 // choices per prompt
  bool stream = false, include_usage = false;
  int32_t logprobs = -1;  // alternatives shown with each token; -1: none
  bool echo = false;      // completions: the answer begins with the prompt
  std::vector<std::string> echo_texts;
  ToolFormat tools = ToolFormat::kNone;  // how to look for tool calls in the answer

  int64_t choices() const { return n * static_cast<int64_t>(prompts.size()); }
  // The engine's request of one choice; choices of a prompt differ in their seeds, the first one's is the request's.
  Request request(int64_t choice) const;
};

struct ApiLimits {
  int64_t context = 0;  // most tokens of a sequence
  KvPolicy kv;          // of requests without one
  int32_t vocab = 0;
  int64_t max_prompts = 128, max_choices = 128;  // of one request, prompts times n
};

// Errors: 400 that names the parameter, 404 for a model that is not served. Fields that are not known are ignored;
// those that are known and not offered are refused.
ApiResult<ApiRequest> parse_completion(const boost::json::object& body, const TextSide& text, const ApiLimits& limits);
ApiResult<ApiRequest> parse_chat(const boost::json::object& body, const TextSide& text, const ApiLimits& limits);

// The messages of a chat request in the form that templates read, and its tools. Used by /tokenize, too.
struct ChatTurn;
ApiResult<std::vector<TokenId>> chat_tokens(const boost::json::object& body, const TextSide& text);

}  // namespace toccata::server
