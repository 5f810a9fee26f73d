#include "sampling/sampler.h"

#include <limits>
#include <utility>

#include "base/check.h"
#include "sampling/draw.h"
#include "sampling/pipeline.h"

namespace toccata {

Sampler::Sampler(SamplingParams params, int32_t vocab) : params_(std::move(params)), vocab_(vocab) {
  TOCCATA_CHECK(vocab > 0);
}

LogitsRow Sampler::adjusted(std::span<const float> logits, std::span<const int32_t> history,
                            SamplerScratch& scratch) const {
  TOCCATA_CHECK(logits.size() == static_cast<size_t>(vocab_));
  if (!params_.logit_bias.empty() || params_.has_penalties()) {
    scratch.row.assign(logits.begin(), logits.end());
    if (params_.has_penalties()) scratch.counts.resize(logits.size());
    adjust_logits(params_, history, scratch.row, scratch.counts);
    logits = scratch.row;
  }
  return look_at(logits, scratch.tops);
}

Sampled Sampler::sample(std::span<const float> logits, std::span<const int32_t> history, int64_t position,
                        SamplerScratch& scratch) const {
  const LogitsRow row = adjusted(logits, history, scratch);
  int32_t token = -1;
  if (!(params_.temperature > 0 && row.best > -std::numeric_limits<float>::infinity())) {
    token = argmax(row);
  } else if (const Race race(params_.seed, position); unrestricted(params_)) {
    token = draw_any(row, static_cast<double>(params_.temperature), race);
  } else {
    select_candidates(params_, row, scratch.candidates);
    token = draw(scratch.candidates, race);
  }
  return reported(token, row, scratch);
}

Sampled Sampler::report(int32_t token, std::span<const float> logits, std::span<const int32_t> history,
                        SamplerScratch& scratch) const {
  return reported(token, adjusted(logits, history, scratch), scratch);
}

Sampled Sampler::reported(int32_t token, const LogitsRow& row, SamplerScratch& scratch) const {
  Sampled result;
  result.token = token;
  if (params_.logprobs < 0) return result;

  const double lse = log_sum_exp(row);
  result.logprob = logprob_of(row.logits[static_cast<size_t>(result.token)], lse);
  best_of(row, static_cast<size_t>(params_.logprobs), scratch.candidates);
  result.top.reserve(scratch.candidates.size());
  for (const Candidate& c : scratch.candidates) result.top.push_back({c.token, logprob_of(c.logit, lse)});
  return result;
}

void Sampler::distribution(std::span<const float> logits, std::span<const int32_t> history, SamplerScratch& scratch,
                           std::vector<Candidate>& out) const {
  out.clear();
  if (params_.temperature > 0) select_candidates(params_, adjusted(logits, history, scratch), out);
}

}  // namespace toccata
