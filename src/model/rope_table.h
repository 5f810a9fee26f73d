// Rotary position embedding (Su et al. 2021): cosines and sines for the rows of a step.
//
// Angles are formed in double precision from exact positions, so they stay exact to f32 for any length.
// Frequencies: base^(-2 i / dim), divided by per-frequency factors where the file has them (Llama 3), by a linear
// factor, or mixed by YaRN (Peng et al. 2023).
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.h"

namespace toccata::model {

class RopeTable {
 public:
  // factors: dim / 2 divisors or null.
  RopeTable(const RopeConfig& rope, const YarnConfig& yarn, const float* factors);

  // cos and sin: dim / 2 floats each.
  void fill(int64_t position, float* cos, float* sin) const;
  int half_dim() const { return static_cast<int>(frequency_.size()); }

 private:
  std::vector<double> frequency_;  // radians per position
  double magnitude_ = 1.0;         // YaRN's attention temperature, applied to cos and sin
};

}  // namespace toccata::model
