#include "sampling/pipeline.h"

#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "sampling/testing.h"

namespace toccata {
namespace {

using test::plain_sampling;

std::vector<float> random_row(size_t n, unsigned seed) {
  std::mt19937 gen(seed);
  std::normal_distribution<float> normal(0.0f, 3.0f);
  std::vector<float> row(n);
  for (float& x : row) x = normal(gen);
  return row;
}

std::vector<Candidate> select(const SamplingParams& p, const std::vector<float>& row) {
  std::vector<float> tops;
  std::vector<Candidate> out;
  select_candidates(p, look_at(row, tops), out);
  return out;
}

std::set<int32_t> tokens(const std::vector<Candidate>& c) {
  std::set<int32_t> s;
  for (const Candidate& x : c) s.insert(x.token);
  return s;
}

std::vector<double> softmax(const std::vector<float>& row, double temperature) {
  std::vector<double> p;
  const double top = *std::max_element(row.begin(), row.end());
  for (float x : row) p.push_back(std::exp((static_cast<double>(x) - top) / temperature));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= sum;
  return p;
}

std::vector<float> adjust(const SamplingParams& p, std::vector<float> row, const std::vector<int32_t>& history) {
  std::vector<int32_t> counts(row.size());
  adjust_logits(p, history, row, counts);
  EXPECT_EQ(counts, std::vector<int32_t>(row.size()));
  return row;
}

TEST(Penalties, HandCalculated) {
  SamplingParams p;
  p.penalty_last_n = -1;
  p.repetition_penalty = 2;
  EXPECT_EQ(adjust(p, {4, -4, 0, 3, 1}, {0, 1, 2, 0}), (std::vector<float>{2, -8, 0, 3, 1}));
  p.repetition_penalty = 1;
  p.frequency_penalty = 0.5f;
  EXPECT_EQ(adjust(p, {4, -4, 0, 3, 1}, {0, 1, 2, 0, 0}), (std::vector<float>{2.5f, -4.5f, -0.5f, 3, 1}));
  p.frequency_penalty = 0;
  p.presence_penalty = 0.25f;
  EXPECT_EQ(adjust(p, {4, -4, 0}, {0, 0, 2}), (std::vector<float>{3.75f, -4, -0.25f}));
  p.repetition_penalty = 2;
  p.frequency_penalty = -1;
  EXPECT_EQ(adjust(p, {4, -4, 0}, {0, 0, 1}), (std::vector<float>{3.75f, -7.25f, 0}));
}

TEST(Penalties, LookOnlyAtTheLastN) {
  SamplingParams p;
  p.presence_penalty = 1;
  p.penalty_last_n = 2;
  EXPECT_EQ(adjust(p, {0, 0, 0, 0}, {0, 1, 2, 3}), (std::vector<float>{0, 0, -1, -1}));
  p.penalty_last_n = 100;
  EXPECT_EQ(adjust(p, {0, 0, 0, 0}, {0, 1}), (std::vector<float>{-1, -1, 0, 0}));
  p.penalty_last_n = 0;
  EXPECT_EQ(adjust(p, {0, 0, 0, 0}, {0, 1}), (std::vector<float>{0, 0, 0, 0}));
}

TEST(Penalties, IgnoreTokensOutsideTheRow) {
  SamplingParams p;
  p.presence_penalty = 1;
  p.logit_bias = {{7, 1.0f}, {-1, 1.0f}};
  EXPECT_EQ(adjust(p, {0, 0}, {-1, 2, 1 << 30, 1}), (std::vector<float>{0, -1}));
}

TEST(Bias, AddsBeforePenalties) {
  SamplingParams p;
  p.logit_bias = {{0, 2.0f}, {1, -INFINITY}, {0, 1.0f}};
  p.repetition_penalty = 3;
  EXPECT_EQ(adjust(p, {0, 5, 1}, {0}), (std::vector<float>{1, -INFINITY, 1}));
}

TEST(Select, TopKIsTheKBestWithTiesToLowIds) {
  SamplingParams p = plain_sampling();
  p.top_k = 3;
  EXPECT_EQ(tokens(select(p, {1, 2, 2, 2, 2, 0})), (std::set<int32_t>{1, 2, 3}));
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::vector<float> row = random_row(500, seed);
    const auto small = tokens(select(p, row));
    SamplingParams wide = p;
    wide.top_k = 30;
    const auto large = tokens(select(wide, row));
    EXPECT_EQ(small.size(), 3u);
    EXPECT_TRUE(std::includes(large.begin(), large.end(), small.begin(), small.end()));
  }
}

TEST(Select, TopPIsTheSmallestSetThatHoldsItsMass) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const std::vector<float> row = random_row(1000, seed);
    SamplingParams p = plain_sampling();
    p.temperature = 0.5f + 0.3f * static_cast<float>(seed);
    p.top_p = 0.03f * static_cast<float>(seed + 1);
    const std::vector<double> prob = softmax(row, static_cast<double>(p.temperature));
    const auto kept = tokens(select(p, row));
    double mass = 0, least = 1, dropped = 0;
    for (int32_t i = 0; i < 1000; ++i) {
      const double q = prob[static_cast<size_t>(i)];
      if (kept.count(i)) {
        mass += q;
        least = std::min(least, q);
      } else {
        dropped = std::max(dropped, q);
      }
    }
    EXPECT_GE(mass, static_cast<double>(p.top_p) - 1e-9);
    EXPECT_LT(mass - least, static_cast<double>(p.top_p));
    EXPECT_GE(least, dropped);
  }
}

TEST(Select, MinPIsRelativeToTheBest) {
  for (const bool with_top_p : {false, true}) {
    const std::vector<float> row = random_row(1000, 5);
    SamplingParams p = plain_sampling();
    p.min_p = 0.02f;
    if (with_top_p) p.top_p = 0.99999f;  // the path that weighs every token
    const std::vector<double> prob = softmax(row, 1.0);
    const double bar = *std::max_element(prob.begin(), prob.end()) * static_cast<double>(p.min_p);
    std::set<int32_t> expected;
    for (size_t i = 0; i < prob.size(); ++i) {
      if (prob[i] >= bar) expected.insert(static_cast<int32_t>(i));
    }
    EXPECT_GT(expected.size(), 3u);
    EXPECT_EQ(tokens(select(p, row)), expected);
  }
  SamplingParams p = plain_sampling();
  p.min_p = 1.0f;
  EXPECT_EQ(tokens(select(p, {1, 3, 3, 0})), (std::set<int32_t>{1, 2}));
}

TEST(Select, TypicalKeepsTokensNearTheEntropy) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::vector<float> row = random_row(400, seed);
    SamplingParams p = plain_sampling();
    p.typical_p = 0.04f * static_cast<float>(seed + 1);
    const std::vector<double> prob = softmax(row, 1.0);
    double entropy = 0;
    for (double q : prob) entropy -= q * std::log(q);
    const auto kept = tokens(select(p, row));
    double mass = 0, farthest = 0, nearest_dropped = 1e9;
    for (int32_t i = 0; i < 400; ++i) {
      const double q = prob[static_cast<size_t>(i)], distance = std::fabs(-std::log(q) - entropy);
      if (kept.count(i)) mass += q;
      if (kept.count(i))
        farthest = std::max(farthest, distance);
      else
        nearest_dropped = std::min(nearest_dropped, distance);
    }
    EXPECT_GE(mass, static_cast<double>(p.typical_p) - 1e-9);
    EXPECT_LE(farthest, nearest_dropped + 1e-9);
  }
}

TEST(Select, NonFiniteLogits) {
  SamplingParams p = plain_sampling();
  EXPECT_TRUE(select(p, {-INFINITY, NAN, -INFINITY}).empty());
  EXPECT_EQ(tokens(select(p, {1, NAN, -INFINITY, 2})), (std::set<int32_t>{0, 3}));
  EXPECT_EQ(tokens(select(p, {1, INFINITY, NAN, INFINITY})), (std::set<int32_t>{1, 3}));
  p.top_k = 3;
  EXPECT_TRUE(select(p, {-INFINITY, NAN, -INFINITY, NAN, NAN}).empty());
  EXPECT_EQ(tokens(select(p, {1, INFINITY, NAN, INFINITY, 5})), (std::set<int32_t>{1, 3}));
}

TEST(Select, TinyTemperatureIsGreedyWithoutNan) {
  SamplingParams p = plain_sampling();
  p.temperature = 1e-38f;
  EXPECT_EQ(tokens(select(p, {1, 1.5f, 1.25f})), (std::set<int32_t>{1}));
  p.top_k = 2;
  EXPECT_EQ(tokens(select(p, {1, 1.5f, 1.25f})), (std::set<int32_t>{1}));
}

TEST(Select, WeightsAreSharesOfTheBest) {
  const std::vector<float> row = random_row(1000, 3);
  const std::vector<double> prob = softmax(row, 0.7);
  const double best = *std::max_element(prob.begin(), prob.end());
  for (const int kind : {0, 1, 2, 3, 4}) {
    SamplingParams p = plain_sampling();
    p.temperature = 0.7f;
    if (kind == 1) p.top_k = 20;
    if (kind == 2) p.top_p = 0.7f;
    if (kind == 3) p.top_p = 0.9999f;  // more than the few that top-p looks at first
    if (kind == 4) p.typical_p = 0.8f;
    for (const Candidate& c : select(p, row)) {
      EXPECT_NEAR(c.weight, prob[static_cast<size_t>(c.token)] / best, 1e-6 * c.weight);
      EXPECT_NEAR(c.share, std::log(c.weight), 1e-12);
      EXPECT_EQ(c.logit, row[static_cast<size_t>(c.token)]);
    }
  }
}

}  // namespace
}  // namespace toccata
