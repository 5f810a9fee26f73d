#include "model/rope_table.h"

#include <algorithm>

#include "base/exact_math.h"

namespace toccata::model {

namespace {

constexpr double kTwoPi = 6.283185307179586;

// YaRN: the (fractional) frequency index whose wavelength makes `turns` rotations over the original context.
double correction_index(double turns, int dim, double base, double context) {
  return dim * exact::log(context / (turns * kTwoPi)) / (2.0 * exact::log(base));
}

}  // namespace

RopeTable::RopeTable(const RopeConfig& rope, const YarnConfig& yarn, const float* factors) {
  const int half = rope.dim / 2;
  frequency_.resize(static_cast<size_t>(half));
  const double log_base = exact::log(rope.base);
  double low = 0, high = 0;
  if (yarn.enabled) {
    const double context = static_cast<double>(yarn.original_context);
    low = std::max(0.0, __builtin_floor(correction_index(yarn.beta_fast, rope.dim, rope.base, context)));
    high = std::min(half - 1.0, __builtin_ceil(correction_index(yarn.beta_slow, rope.dim, rope.base, context)));
    magnitude_ = yarn.attn_factor * (1.0 + 0.1 * exact::log(yarn.factor));
  }
  for (int i = 0; i < half; ++i) {
    double f = exact::exp(-log_base * (2.0 * i / rope.dim));
    if (factors) f /= static_cast<double>(factors[i]);
    if (yarn.enabled) {
      // 0 for fast frequencies (kept as trained), 1 for slow ones (interpolated).
      const double ramp = std::clamp((i - low) / std::max(0.001, high - low), 0.0, 1.0);
      f = f * (1.0 - ramp) + f / yarn.factor * ramp;
    } else {
      f /= rope.linear_factor;
    }
    frequency_[static_cast<size_t>(i)] = f;
  }
}

void RopeTable::fill(int64_t position, float* cos, float* sin) const {
  for (size_t i = 0; i < frequency_.size(); ++i) {
    const exact::SinCos turn = exact::sincos(static_cast<double>(position) * frequency_[i]);
    cos[i] = static_cast<float>(turn.cos * magnitude_);
    sin[i] = static_cast<float>(turn.sin * magnitude_);
  }
}

}  // namespace toccata::model
