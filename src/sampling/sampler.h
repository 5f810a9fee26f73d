// The logits pipeline and the draw. Pure: the result depends on the arguments alone, so a row gives the same token
// however its step was batched (the noise is a function of seed, position and token).
//
// Order: bias, penalties, [logprobs are read here from temperature-1 softmax], then greedy if temperature is 0, else
// temperature, top-k, typical, top-p, min-p, draw (sampling/race.h). Ties go to the lowest token id.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sampling/candidates.h"
#include "toccata/request.h"

namespace toccata {

// The draw in the form in which requests get it: logprob and top are filled in if params.logprobs >= 0.
using Sampled = TokenOutput;

// Room for the work on a row; one per thread, shared by all samplers of a vocabulary.
struct SamplerScratch {
  std::vector<float> row;  // adjusted, where there is something to adjust
  std::vector<float> tops;
  std::vector<int32_t> counts;  // of tokens in the penalties' window; zeros between calls
  std::vector<Candidate> candidates;
};

class Sampler {
 public:
  // params must be valid for this vocabulary (SamplingParams::validate).
  Sampler(SamplingParams params, int32_t vocab);

  // logits: vocab floats, not changed; NaN never wins. history: the sequence's tokens before `position` (prompt
  // included). position: absolute position of the token that is drawn. If no logit is above -infinity the result is
  // the first token whose logit is not NaN, else 0, with logprob -infinity. Several threads may draw at once, for
  // rows of one sequence as well.
  Sampled sample(std::span<const float> logits, std::span<const int32_t> history, int64_t position,
                 SamplerScratch& scratch) const;

  // What sample() reports of this token where it draws it.
  Sampled report(int32_t token, std::span<const float> logits, std::span<const int32_t> history,
                 SamplerScratch& scratch) const;

  // The distribution that sample() draws from, as weights: what the rules leave, in any order. Empty if the token is
  // determined without a draw: at temperature 0, or if no logit is above -infinity.
  void distribution(std::span<const float> logits, std::span<const int32_t> history, SamplerScratch& scratch,
                    std::vector<Candidate>& out) const;

  const SamplingParams& params() const { return params_; }

 private:
  Sampled reported(int32_t token, const LogitsRow& row, SamplerScratch& scratch) const;
  LogitsRow adjusted(std::span<const float> logits, std::span<const int32_t> history, SamplerScratch& scratch) const;

  SamplingParams params_;
  int32_t vocab_;
};

}  // namespace toccata
