// Parameters that several tests start from.
#pragma once

#include "sampling/sampler.h"

namespace toccata::test {

// The model's own distribution: temperature 1 and nothing cut off.
inline SamplingParams plain_sampling() {
  SamplingParams p;
  p.temperature = 1;
  p.top_k = 0;
  p.top_p = 1;
  p.min_p = 0;
  return p;
}

}  // namespace toccata::test
