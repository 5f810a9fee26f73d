// Which tokens stay in a sequence's KV cache.
#pragma once

#include <cstdint>
#include <string>

namespace toccata {

// Numbers count tokens, per layer and KV head. Layers with a sliding window of their own keep that window.
struct KvPolicy {
  // full: all; streaming: the first tokens and the latest ones; h2o: the latest ones and those that got most attention;
  // snapkv: the same by the attention of the latest queries alone
  std::string name = "full";
  int64_t budget = 0;        // tokens that a query sees, itself among them; 0: sinks + recent
  int64_t sinks = 4;         // the first tokens, which always stay
  int64_t recent = 0;        // the latest tokens, which always stay; 0: what the policy makes of the budget
  float heavy_ratio = 0.5f;  // h2o, snapkv: share of the budget that is chosen by attention where `recent` is 0
  int64_t interval = 32;     // evictions happen at multiples of this position only; 1 to 512

  bool evicts() const { return name != "full"; }
};

}  // namespace toccata
