// The latest steps of an engine, in memory of fixed size: adding one is a copy. Not synchronised.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "toccata/engine.h"

namespace toccata::engine {

class StepRing {
 public:
  explicit StepRing(size_t capacity) : records_(capacity) {}

  // Numbers are consecutive, from 1.
  void add(const StepRecord& step) {
    last_ = step.number;
    records_[step.number % records_.size()] = step;
  }
  // Those that are kept with a number above `after`, oldest first.
  std::vector<StepRecord> after(uint64_t after) const {
    const uint64_t kept = std::min<uint64_t>(last_, records_.size());
    std::vector<StepRecord> out;
    for (uint64_t n = std::max(after, last_ - kept) + 1; n <= last_ && n != 0; ++n) {
      out.push_back(records_[n % records_.size()]);
    }
    return out;
  }

 private:
  std::vector<StepRecord> records_;
  uint64_t last_ = 0;
};

}  // namespace toccata::engine
