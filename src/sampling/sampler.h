// The logits pipeline and the draw. Pure: the result depends on the arguments alone, so a row gives the same token
// however its step was batched (the random number is a function of seed, position and purpose).
//
// Order: bias, penalties, [logprobs are read here from temperature-1 softmax], then greedy if temperature is 0, else
// temperature, top-k, typical, top-p, min-p, draw. Ties go to the lowest token id.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sampling/candidates.h"
#include "toccata/request.h"

namespace toccata {

// The draw in the form in which requests get it: logprob and top are filled in if params.logprobs >= 0.
using Sampled = TokenOutput;

class Sampler {
 public:
  // params must be valid for this vocabulary (SamplingParams::validate).
  Sampler(SamplingParams params, int32_t vocab);

  // logits: vocab floats, not changed; NaN never wins. history: the sequence's tokens before `position` (prompt
  // included). position: absolute position of the token that is drawn. If no logit is above -infinity the result is
  // the first token whose logit is not NaN, else 0, with logprob -infinity.
  Sampled sample(std::span<const float> logits, std::span<const int32_t> history, int64_t position);

  const SamplingParams& params() const { return params_; }

 private:
  SamplingParams params_;
  int32_t vocab_;
  std::vector<float> scratch_;   // the adjusted row, where there is something to adjust
  std::vector<int32_t> counts_;  // of tokens in the penalties' window; zeros between calls
  std::vector<Candidate> candidates_;
};

}  // namespace toccata
