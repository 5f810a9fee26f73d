// The logits pipeline: from a row of logits to the candidates of the draw, step by step. Pure functions of their
// arguments; verification of drafted tokens runs them per row as the plain path does.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sampling/candidates.h"
#include "toccata/sampling_params.h"

namespace toccata {

// Bias, then penalties, written into `logits` in place. For a token that occurs n >= 1 times in the last
// penalty_last_n tokens of the history:
//   l = l > 0 ? l / repetition : l * repetition       (Keskar et al. 2019)
//   l = l - (n * frequency + presence)                 (the OpenAI API's definition)
// Tokens outside the row are ignored. counts: one zero per token of the row, and zeros again on return.
void adjust_logits(const SamplingParams& params, std::span<const int32_t> history, std::span<float> logits,
                   std::span<int32_t> counts);

// What may be drawn, in any order: temperature, top-k, typical, top-p, min-p, in this order; each rule works on the
// distribution that the rules before it left. params.temperature must be above 0. Empty if no logit is above -infinity.
// If a logit is +infinity, only such tokens have weight. Tokens below e^-52 of the best are left out.
//   top-k    the k best
//   typical  with entropy H = -sum p ln p: tokens by |-ln p - H| ascending until they hold typical_p
//   top-p    the smallest set of best tokens that holds at least top_p
//   min-p    tokens with p >= min_p * the highest p
void select_candidates(const SamplingParams& params, const LogitsRow& row, std::vector<Candidate>& out);

// Whether the rules leave every token.
inline bool unrestricted(const SamplingParams& p) {
  return p.top_k <= 0 && p.typical_p >= 1.0f && p.top_p >= 1.0f && p.min_p <= 0.0f;
}

}  // namespace toccata
