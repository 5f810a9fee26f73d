#include "engine/step_ring.h"

#include <gtest/gtest.h>

namespace toccata::engine {
namespace {

std::vector<uint64_t> numbers(const StepRing& ring, uint64_t after) {
  std::vector<uint64_t> out;
  for (const StepRecord& s : ring.after(after)) {
    EXPECT_EQ(s.prefill_tokens, static_cast<int64_t>(s.number * 10));
    out.push_back(s.number);
  }
  return out;
}

TEST(StepRing, KeepsTheLatest) {
  StepRing ring(4);
  EXPECT_TRUE(ring.after(0).empty());
  using Numbers = std::vector<uint64_t>;
  for (uint64_t n = 1; n <= 9; ++n) {
    StepRecord step;
    step.number = n;
    step.prefill_tokens = static_cast<int64_t>(n * 10);
    ring.add(step);
    if (n == 3) {
      EXPECT_EQ(numbers(ring, 0), Numbers({1, 2, 3}));
      EXPECT_EQ(numbers(ring, 2), Numbers({3}));
    }
  }
  EXPECT_EQ(numbers(ring, 0), Numbers({6, 7, 8, 9}));
  EXPECT_EQ(numbers(ring, 7), Numbers({8, 9}));
  EXPECT_EQ(numbers(ring, 9), Numbers());
  EXPECT_EQ(numbers(ring, 1000), Numbers());
  EXPECT_EQ(numbers(ring, ~uint64_t{0}), Numbers());
}

}  // namespace
}  // namespace toccata::engine
