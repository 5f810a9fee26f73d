// What a client asks of the engine, and what it gets back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "toccata/kv_policy.h"
#include "toccata/result.h"
#include "toccata/sampling_params.h"
#include "toccata/speculation.h"

namespace toccata {

using RequestId = uint64_t;  // never reused by one engine; 0: none

struct Request {
  std::vector<int32_t> prompt;    // token ids, at least one, in [0, vocab)
  SamplingParams sampling;        // logprobs >= 0 asks for them with each token
  int64_t max_tokens = -1;        // of the answer; -1: until an end token or the context's end
  std::vector<std::string> stop;  // the answer ends before the first of these
  bool ignore_eos = false;        // end tokens count as any other
  int32_t prompt_logprobs = -1;   // -1: none; N >= 0: each prompt token's (but the first's) and the N most likely ones'
  int32_t priority = 0;           // lower runs first, as in vLLM; a request gains with the time it waits
  double timeout_seconds = 0;     // from submit to finish; 0: none
  std::string cache_salt;         // prefixes are shared only between requests of the same salt
  std::optional<SpeculationParams> speculative;  // instead of the engine's
  std::optional<KvPolicy> kv;  // which tokens stay in the KV cache; absent: as the engine's options say
};

struct TokenChoice {
  int32_t token = -1;
  float logprob = 0.0f;  // natural log
};

struct TokenOutput {
  int32_t token = -1;
  float logprob = 0.0f;          // 0 unless asked for
  std::vector<TokenChoice> top;  // most likely first; empty unless asked for
  bool drafted = false;          // by speculation, and the model agreed
};

enum class FinishReason : uint8_t {
  kStop,       // an end token or a stop string
  kLength,     // max_tokens or the context's end
  kCancelled,  // cancel(), or the engine was shut down
  kTimeout,    // timeout_seconds passed
  kError,      // see RequestReport::error
};

// Why the prompt's first token that was not in the prefix cache had to be computed.
enum class CacheMiss : uint8_t {
  kNone,      // all was cached but the last token, which is always computed
  kDisabled,  // the prefix cache is off, or prompt_logprobs needs every row
  kCold,      // no such prefix was ever stored under this salt
  kEvicted,   // it was stored and had to make room
  kPartial,   // the rest is shorter than a block
};

struct RequestReport {
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;  // of the prompt, when it was first admitted
  int64_t generated_tokens = 0;
  CacheMiss cache_miss = CacheMiss::kNone;
  int32_t preemptions = 0;
  bool kv_evicts = false;  // the request's KV policy is one that evicts
  int64_t kv_tokens = 0;   // that the KV cache held at the end, and those that a policy had evicted
  int64_t kv_evicted_tokens = 0;
  uint64_t kv_bytes = 0;             // of the request's blocks at the end
  double queue_seconds = 0.0;        // submit to the first step
  double prefill_seconds = 0.0;      // first step to the first token
  double first_token_seconds = 0.0;  // submit to the first token; 0 if there was none
  double total_seconds = 0.0;        // submit to the end
  double longest_gap_seconds = 0.0;  // between two deliveries of tokens
  int64_t drafts = 0;                // verified drafts: steps that may have given more than one token
  int64_t drafted_tokens = 0, accepted_tokens = 0;
  Error error;  // with kError
};

// Receives one request's events, in order, from the engine's thread, on_finish last and exactly once. Must return
// quickly and not call back into the engine, except for cancel(). The engine holds it until on_finish returned.
class RequestListener {
 public:
  virtual ~RequestListener() = default;
  // Once, before the first token, if prompt_logprobs was asked for: one entry per prompt token from the second on.
  virtual void on_prompt_logprobs(std::vector<TokenOutput>) {}
  // text: complete characters that can no longer become part of a stop string. It may be empty (held back), and a
  // last call before on_finish may bring text without tokens. End tokens and stop strings are not part of the text;
  // an end token is not among the tokens.
  virtual void on_tokens(std::vector<TokenOutput> tokens, std::string text) = 0;
  virtual void on_finish(FinishReason reason, const RequestReport& report) = 0;
};

}  // namespace toccata
