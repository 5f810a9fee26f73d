#include "sampling/sampler.h"

#include <utility>

#include "base/check.h"
#include "base/rng.h"
#include "sampling/pipeline.h"

namespace toccata {

Sampler::Sampler(SamplingParams params, int32_t vocab) : params_(std::move(params)), vocab_(vocab) {
  TOCCATA_CHECK(vocab > 0);
  if (params_.has_penalties()) counts_.resize(static_cast<size_t>(vocab));
}

Sampled Sampler::sample(std::span<const float> logits, std::span<const int32_t> history, int64_t position) {
  TOCCATA_CHECK(logits.size() == static_cast<size_t>(vocab_));
  std::span<const float> row = logits;
  if (!params_.logit_bias.empty() || params_.has_penalties()) {
    scratch_.assign(logits.begin(), logits.end());
    adjust_logits(params_, history, scratch_, counts_);
    row = scratch_;
  }
  Sampled result;
  if (params_.temperature > 0) {
    select_candidates(params_, row, candidates_);
    if (!candidates_.empty()) {
      const double u = rng::uniform(params_.seed, static_cast<uint64_t>(position), rng::Purpose::kToken);
      result.token = draw(candidates_, u);
    }
  }
  if (result.token < 0) result.token = argmax(row);
  if (params_.logprobs < 0) return result;

  const double lse = log_sum_exp(row);
  result.logprob = logprob_of(row[static_cast<size_t>(result.token)], lse);
  best_of(row, static_cast<size_t>(params_.logprobs), candidates_);
  result.top.reserve(candidates_.size());
  for (const Candidate& c : candidates_) result.top.push_back({c.token, logprob_of(c.logit, lse)});
  return result;
}

}  // namespace toccata
