// Sampling parameters of one request.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "toccata/result.h"

namespace toccata {

struct SamplingParams {
  float temperature = 0.8f;         // 0: greedy
  int32_t top_k = 40;               // <= 0: off
  float top_p = 0.95f;              // 1: off
  float min_p = 0.05f;              // 0: off
  float typical_p = 1.0f;           // 1: off (Meister et al. 2023)
  float repetition_penalty = 1.0f;  // 1: off (Keskar et al. 2019)
  float presence_penalty = 0.0f;
  float frequency_penalty = 0.0f;
  int32_t penalty_last_n = 64;  // tokens of history that penalties look at; -1: all, 0: penalties off
  std::vector<std::pair<int32_t, float>> logit_bias;  // (token, bias); -infinity bans the token
  uint64_t seed = 0;
  int32_t logprobs = -1;  // -1: none; N >= 0: the chosen token's and the N most likely ones'

  Status validate(int32_t vocab) const;  // kInvalidArgument that names the parameter and its range
  bool has_penalties() const {
    return penalty_last_n != 0 && (repetition_penalty != 1.0f || presence_penalty != 0.0f || frequency_penalty != 0.0f);
  }
};

}  // namespace toccata
