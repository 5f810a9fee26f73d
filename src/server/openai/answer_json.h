// The parts of answers as JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "server/openai/tool_calls.h"
#include "text/tokenizer/tokenizer.h"
#include "toccata/request.h"

namespace toccata::server {

struct AnswerHead {
  std::string id, model;
  int64_t created = 0;
  bool chat = false, stream = false;
};

struct Usage {
  int64_t prompt_tokens = 0, completion_tokens = 0, cached_tokens = 0;
  int64_t drafted_tokens = 0, accepted_tokens = 0;  // shown where something was drafted
  bool kv_evicts = false;                           // a KV policy was at work, and these are shown
  int64_t kv_tokens = 0, kv_evicted_tokens = 0, kv_bytes = 0;
};

boost::json::object answer_object(const AnswerHead& head);  // id, object, created, model; choices come after
boost::json::object usage_object(const Usage& usage);
boost::json::value finish_value(FinishReason reason, bool tool_calls);

// A log-probability that JSON can hold; -9999 stands for minus infinity, as elsewhere.
double finite_logprob(float logprob);

// {"content": [...]}: one entry per token; those that speculation had drafted say "drafted": true.
boost::json::object chat_logprobs(std::span<const TokenOutput> tokens, const Tokenizer& tokenizer);

// The four arrays of /v1/completions. offset: characters of the answer before the tokens; moves on. A token of
// `without` has no log-probability (the first one of an echoed prompt).
boost::json::object completion_logprobs(std::span<const TokenOutput> tokens, const Tokenizer& tokenizer,
                                        int64_t& offset, size_t without = 0);

boost::json::object tool_call_object(const ToolCall& call, const std::string& id, int64_t index, bool stream);

}  // namespace toccata::server
