#include "sampling/race.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "sampling/draw.h"

namespace toccata {
namespace {

// Kolmogorov and Smirnov's distance of sorted values in (0, 1) from the uniform distribution, times sqrt(n): above 1.95
// with probability 0.001. The draws are fixed, so this never flickers.
double ks(std::vector<double> u) {
  std::sort(u.begin(), u.end());
  const double n = static_cast<double>(u.size());
  double worst = 0;
  for (size_t i = 0; i < u.size(); ++i) {
    worst = std::max(
        {worst, std::fabs(u[i] - static_cast<double>(i) / n), std::fabs(u[i] - static_cast<double>(i + 1) / n)});
  }
  return worst * std::sqrt(n);
}

// Each token's G is a Gumbel variable on its own, across positions: exp(-exp(-G)) is uniform.
TEST(Race, EachTokensNoiseIsGumbel) {
  for (const int32_t token : {0, 1, 127, 128, 49151, 1 << 30}) {
    std::vector<double> u;
    for (int64_t position = 0; position < 20000; ++position)
      u.push_back(std::exp(-std::exp(-Race(3, position).gumbel(token))));
    EXPECT_LT(ks(u), 1.95) << token;
  }
}

// Tokens of one group share a random number and must be independent all the same: then the differences of two Gumbel
// variables are logistic, and the smallest of k exponentials is exponential with rate k.
TEST(Race, TokensOfAGroupAreIndependent) {
  std::vector<double> differences, smallest, across;
  for (int64_t position = 0; position < 20000; ++position) {
    const Race race(4, position);
    differences.push_back(1 / (1 + std::exp(race.gumbel(40) - race.gumbel(90))));
    across.push_back(1 / (1 + std::exp(race.gumbel(40) - race.gumbel(168))));
    double most = -INFINITY;
    for (int32_t token = 10; token < 20; ++token) most = std::max(most, race.gumbel(token));
    smallest.push_back(std::exp(-10 * std::exp(-most)));
  }
  EXPECT_LT(ks(differences), 1.95);
  EXPECT_LT(ks(across), 1.95);
  EXPECT_LT(ks(smallest), 1.95);
}

TEST(Race, SeedPositionAndTokenMatter) {
  const double g = Race(1, 1).gumbel(5);
  EXPECT_EQ(g, Race(1, 1).gumbel(5));
  for (const double other : {Race(2, 1).gumbel(5), Race(1, 2).gumbel(5), Race(1, 1).gumbel(6), Race(1, 1).gumbel(133),
                             Race(1 + (uint64_t{1} << 32), 1).gumbel(5), Race(1, 1 + (int64_t{1} << 32)).gumbel(5)}) {
    EXPECT_NE(g, other);
  }
}

TEST(Race, NoTokenExceedsItsGroupsBound) {
  for (int64_t position = 0; position < 300; ++position) {
    const Race race(5, position);
    const Race::Group group = race.group(300);
    double most = -INFINITY;
    for (int32_t token = 256; token < 384; ++token) {
      EXPECT_EQ(race.group(token).first, group.first);
      most = std::max(most, race.gumbel(token));
    }
    EXPECT_EQ(most, race.gumbel(group.first));
    EXPECT_LE(most, group.most());
  }
}

// The pruned draws against the rule itself: the largest share + G, the lowest id of equals, all tokens looked at.
TEST(Draw, PruningNeverChangesTheWinner) {
  std::mt19937 gen(6);
  for (int round = 0; round < 400; ++round) {
    const size_t n = 1 + gen() % 2000;
    std::normal_distribution<float> normal(0.0f, static_cast<float>(round % 7));
    std::vector<float> logits(n);
    for (float& x : logits) x = gen() % 20 == 0 ? -INFINITY : gen() % 20 == 0 ? NAN : normal(gen);
    if (round % 9 == 0) logits[gen() % n] = INFINITY;
    logits[gen() % n] = 1.0f;
    std::vector<float> tops;
    const LogitsRow row = look_at(logits, tops);
    const double temperature = round % 5 == 0 ? 1e-38 : 0.3 + 0.2 * (round % 11);
    const Race race(gen(), round);
    std::vector<Candidate> all;
    int32_t winner = -1;
    double best = -INFINITY;
    for (size_t i = 0; i < n; ++i) {
      const double share = log_share(logits[i], row.best, temperature);
      const auto token = static_cast<int32_t>(i);
      if (!(share > -INFINITY)) continue;
      all.push_back({logits[i], token, share, 0.0});
      if (share + race.gumbel(token) > best) {
        best = share + race.gumbel(token);
        winner = token;
      }
    }
    ASSERT_EQ(draw_any(row, temperature, race), winner) << "round " << round;
    std::shuffle(all.begin(), all.end(), gen);
    ASSERT_EQ(draw(all, race), winner) << "round " << round;
  }
}

}  // namespace
}  // namespace toccata
