#include "base/rng.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace toccata::rng {
namespace {

// The known-answer vectors that accompany the paper's reference implementation (Random123, kat_vectors).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Uniform, LiesInTheHalfOpenUnitIntervalAndIsEven) {
  constexpr int kDraws = 100000, kBins = 20;
  std::array<int, kBins> bins{};
  for (uint64_t i = 0; i < kDraws; ++i) {
    const double u = uniform(42, i, Purpose::kToken);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++bins[static_cast<size_t>(u * kBins)];
  }
  double chi2 = 0;
  for (const int n : bins) chi2 += (n - kDraws / kBins) * (n - kDraws / kBins) / (1.0 * kDraws / kBins);
  EXPECT_LT(chi2, 43.8);  // 19 degrees of freedom, p = 0.001; the draws are fixed, so this never flickers
}

TEST(Uniform, EveryKeyPartMatters) {
  std::set<double> seen;
  for (const uint64_t seed : {uint64_t{1}, uint64_t{1} << 32}) {
    for (const uint64_t position : {uint64_t{2}, uint64_t{2} << 32}) {
      for (const Purpose purpose : {Purpose::kToken, Purpose::kDraft, Purpose::kAccept}) {
        for (const uint32_t index : {0u, 1u}) seen.insert(uniform(seed, position, purpose, index));
      }
    }
  }
  EXPECT_EQ(seen.size(), 24u);
}

}  // namespace
}  // namespace toccata::rng
