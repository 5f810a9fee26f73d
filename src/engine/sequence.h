// One request inside the engine: its text, its blocks, and what turns its logits into an answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kv/policy.h"
#include "kv/prefix_cache.h"
#include "kv/ranked.h"
#include "sampling/sampler.h"
#include "sampling/stop.h"
#include "spec/controller.h"
#include "text/tokenizer/tokenizer.h"
#include "toccata/request.h"

namespace toccata::engine {

class Sequence {
 public:
  Sequence(RequestId id, Request request, std::shared_ptr<RequestListener> listener, const Tokenizer& tokenizer,
           int32_t vocab, int64_t context, const kv::CachePlan& plan, double now);

  const RequestId id;
  const Request request;
  const std::shared_ptr<RequestListener> listener;
  const int64_t prompt_size;

  std::vector<int32_t> tokens;  // prompt and answer
  Sampler sampler;
  spec::RequestState speculation;  // drafts of the step that is planned; never part of `tokens` outside of it

  // KV cache; kept by BlockMemory.
  const kv::CachePlan plan;
  kv::BlockHash root;
  std::vector<kv::BlockId> blocks;
  std::vector<kv::BlockHash> hashes;      // of the full blocks of `tokens`, as far as they were needed
  int64_t computed = 0;                   // tokens whose K and V are in the blocks
  size_t published = 0;                   // blocks at the front that were offered to the prefix cache
  std::optional<kv::RankedState> ranked;  // of a plan by rank, while it has blocks
  // Blocks at the front that are the same with and without the policy, and may be shared.
  size_t shareable(int64_t count) const { return static_cast<size_t>(plan.shareable(count) / kv::PrefixCache::kBlock); }

  // Prompt log-probabilities: entry i belongs to prompt token i + 1; the first `scored` are known.
  std::vector<TokenOutput> prompt_scores;
  int64_t scored = 0;
  bool wants_prompt_scores() const { return request.prompt_logprobs >= 0 && scored < prompt_size - 1; }

  int64_t most_more() const { return most_tokens_ - std::ssize(tokens); }  // tokens that the answer may still get

  // Nothing may be evicted for a token that is rejected later.
  int64_t most_drafted() const { return plan.until_eviction(computed) - 1; }

  // Takes the tokens that a step drew, one after the other, until the answer ends; delivers them together.
  struct Taken {
    int64_t count = 0;  // looked at, the one that ended the answer included
    bool ended = false;
    FinishReason reason = FinishReason::kLength;  // finish() must be called with it, if it ended
  };
  Taken take(std::span<Sampled> drawn, double now);
  void deliver_prompt_scores();
  void admitted(double now);  // to a step; the first time counts
  bool started() const { return started_; }
  void finish(FinishReason reason, double now);

  RequestReport report;

 private:
  void note_time(double now);

  const Tokenizer& tokenizer_;
  int64_t most_tokens_;  // prompt and answer
  StreamDecoder decoder_;
  StopMatcher stop_;
  double submitted_ = 0, first_step_ = 0, last_token_ = 0;
  bool started_ = false;
};

}  // namespace toccata::engine
