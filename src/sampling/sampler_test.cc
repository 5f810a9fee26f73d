#include "sampling/sampler.h"

#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

namespace toccata {
namespace {

SamplingParams plain(float temperature, uint64_t seed) {
  SamplingParams p;
  p.temperature = temperature;
  p.top_k = 0;
  p.top_p = 1;
  p.min_p = 0;
  p.seed = seed;
  return p;
}

// A sampler with a scratch of its own.
class Drawer {
 public:
  Drawer(SamplingParams params, int32_t vocab) : sampler_(std::move(params), vocab) {}
  Sampled sample(std::span<const float> logits, std::span<const int32_t> history, int64_t position) {
    return sampler_.sample(logits, history, position, scratch_);
  }

 private:
  Sampler sampler_;
  SamplerScratch scratch_;
};

std::vector<float> random_row(size_t n, unsigned seed, float sigma = 2.0f) {
  std::mt19937 gen(seed);
  std::normal_distribution<float> normal(0.0f, sigma);
  std::vector<float> row(n);
  for (float& x : row) x = normal(gen);
  return row;
}

// Pearson's statistic of n draws against p; tokens that are expected fewer than 8 times are pooled. Under the null
// hypothesis it has mean `df` and variance 2 df; 5 sigma above is a chance of about 1e-6.
void expect_distribution(SamplingParams params, const std::vector<float>& row, const std::vector<double>& p,
                         const std::vector<int32_t>& history = {}) {
  const int n = 40000;
  Drawer sampler(params, static_cast<int32_t>(row.size()));
  std::vector<int> count(row.size());
  for (int i = 0; i < n; ++i) ++count[static_cast<size_t>(sampler.sample(row, history, i).token)];
  double statistic = 0, pooled_expected = 0, pooled = 0;
  int df = -1;
  const auto add = [&](double seen, double expected) {
    statistic += (seen - expected) * (seen - expected) / expected;
    ++df;
  };
  for (size_t i = 0; i < row.size(); ++i) {
    if (p[i] == 0) {
      EXPECT_EQ(count[i], 0) << "token " << i;
    }
    if (p[i] * n >= 8) {
      add(count[i], p[i] * n);
    } else {
      pooled += count[i];
      pooled_expected += p[i] * n;
    }
  }
  if (pooled_expected > 0) add(pooled, pooled_expected);
  ASSERT_GT(df, 0);
  EXPECT_LT(statistic, df + 5 * std::sqrt(2.0 * df)) << "df " << df;
}

std::vector<double> softmax(const std::vector<float>& row, double temperature) {
  std::vector<double> p;
  for (float x : row) p.push_back(std::exp(static_cast<double>(x) / temperature));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= sum;
  return p;
}

void renormalise(std::vector<double>& p) {
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= sum;
}

TEST(Sampler, TemperatureDistributionIsExact) {
  for (const float t : {0.5f, 1.0f, 2.0f}) {
    const std::vector<float> row = random_row(60, 11);
    expect_distribution(plain(t, 1), row, softmax(row, static_cast<double>(t)));
  }
}

// Several groups of the noise, and weights from heavy to hopeless in each.
TEST(Sampler, LargeVocabularyDistributionIsExact) {
  for (const float sigma : {0.0f, 1.0f, 3.0f}) {
    const std::vector<float> row = random_row(1000, 18, sigma);
    expect_distribution(plain(1.0f, 4), row, softmax(row, 1.0));
  }
}

TEST(Sampler, TopKDistributionIsExact) {
  const std::vector<float> row = random_row(300, 12);
  SamplingParams params = plain(1.0f, 2);
  params.top_k = 9;
  std::vector<double> p = softmax(row, 1.0);
  std::vector<double> sorted = p;
  std::sort(sorted.rbegin(), sorted.rend());
  for (double& x : p) x = x >= sorted[8] ? x : 0;
  renormalise(p);
  expect_distribution(params, row, p);
}

TEST(Sampler, TopPAndMinPDistributionIsExact) {
  const std::vector<float> row = random_row(300, 13);
  SamplingParams params = plain(0.9f, 3);
  params.top_p = 0.8f;
  params.min_p = 0.1f;
  std::vector<double> p = softmax(row, static_cast<double>(params.temperature));
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] > p[b]; });
  double held = 0;
  for (const size_t i : order) {
    if (held >= static_cast<double>(params.top_p) || p[i] < 0.1 * p[order[0]])
      p[i] = 0;
    else
      held += p[i];
  }
  renormalise(p);
  expect_distribution(params, row, p);
}

TEST(Sampler, GreedyTakesTheBestAndTheLowestIdOfTies) {
  Drawer sampler(plain(0.0f, 1), 5);
  EXPECT_EQ(sampler.sample(std::vector<float>{0, 7, 3, 7, NAN}, {}, 0).token, 1);
}

TEST(Sampler, TokenDependsOnSeedAndPositionOnly) {
  const std::vector<float> row = random_row(2000, 14);
  const std::vector<float> other = random_row(2000, 15);
  Drawer a(plain(1.0f, 42), 2000), b(plain(1.0f, 42), 2000), c(plain(1.0f, 43), 2000);
  std::vector<int32_t> forward, backward(50), reseeded;
  for (int64_t i = 0; i < 50; ++i) forward.push_back(a.sample(row, {}, i).token);
  for (int64_t i = 49; i >= 0; --i) {
    b.sample(other, {}, i + 1000);
    backward[static_cast<size_t>(i)] = b.sample(row, {}, i).token;
  }
  for (int64_t i = 0; i < 50; ++i) reseeded.push_back(c.sample(row, {}, i).token);
  EXPECT_EQ(forward, backward);
  EXPECT_NE(forward, reseeded);
  EXPECT_GT(std::set<int32_t>(forward.begin(), forward.end()).size(), 10u);
}

// The distribution that a verifier sees is the one that is drawn from.
TEST(Sampler, DistributionIsWhatIsDrawnFrom) {
  const std::vector<float> row = random_row(400, 21);
  SamplingParams params = plain(1.3f, 5);
  params.top_p = 0.9f;
  params.presence_penalty = 1.5f;
  params.logit_bias = {{3, 4.0f}, {9, -INFINITY}};
  const std::vector<int32_t> history = {3, 77, 3};
  const Sampler sampler(params, 400);
  SamplerScratch scratch;
  std::vector<Candidate> all;
  sampler.distribution(row, history, scratch, all);
  std::vector<double> p(row.size());
  for (const Candidate& c : all) p[static_cast<size_t>(c.token)] = c.weight;
  renormalise(p);
  EXPECT_LT(all.size(), 399u);
  EXPECT_EQ(p[9], 0.0);
  expect_distribution(params, row, p, history);
  params.temperature = 0;
  Sampler(params, 400).distribution(row, history, scratch, all);
  EXPECT_TRUE(all.empty());
}

// Rules take candidates away; they do not change who wins among the rest.
TEST(Sampler, RulesKeepTheWinnerIfTheyKeepItsToken) {
  const std::vector<float> row = random_row(3000, 22);
  const auto token = [&](const SamplingParams& p, int64_t position) {
    return Drawer(p, 3000).sample(row, {}, position).token;
  };
  SamplingParams top_k = plain(1.0f, 6), top_p = top_k, min_p = top_k, typical = top_k;
  top_k.top_k = 30;
  top_p.top_p = 0.6f;
  min_p.min_p = 0.05f;
  typical.typical_p = 0.5f;
  std::vector<Candidate> kept;
  SamplerScratch scratch;
  for (const SamplingParams& p : {top_k, top_p, min_p, typical}) {
    Sampler(p, 3000).distribution(row, {}, scratch, kept);
    int shared = 0;
    for (int64_t i = 0; i < 200; ++i) {
      const int32_t any = token(plain(1.0f, 6), i);
      if (std::none_of(kept.begin(), kept.end(), [&](const Candidate& c) { return c.token == any; })) continue;
      EXPECT_EQ(token(p, i), any);
      ++shared;
    }
    EXPECT_GT(shared, 20);
  }
}

// Two models that nearly agree draw the same token nearly always: with total variation d at least 1 - 2 d / (1 + d) of
// the time (independent draws from these rows would agree in 1 of 20).
TEST(Sampler, SimilarRowsCouple) {
  const std::vector<float> row = random_row(2000, 23), noise = random_row(2000, 24, 0.1f);
  std::vector<float> similar = row;
  similar.resize(2100, -3.0f);  // a padded vocabulary
  for (size_t i = 0; i < row.size(); ++i) similar[i] += noise[i];
  Drawer a(plain(1.0f, 7), 2000), b(plain(1.0f, 7), 2100);
  std::vector<double> p = softmax(row, 1.0), q = softmax(similar, 1.0);
  p.resize(q.size());
  double distance = 0;
  for (size_t i = 0; i < p.size(); ++i) distance += 0.5 * std::fabs(p[i] - q[i]);
  int same = 0;
  for (int64_t i = 0; i < 2000; ++i) same += a.sample(row, {}, i).token == b.sample(similar, {}, i).token;
  const double least = 1 - 2 * distance / (1 + distance);
  EXPECT_GT(same / 2000.0, least - 4 * std::sqrt(least * (1 - least) / 2000));
  EXPECT_GT(least, 0.8);
}

TEST(Sampler, RowsOfOneSequenceMayBeDrawnAtOnce) {
  const Sampler sampler(plain(1.0f, 9), 5000);
  const std::vector<float> row = random_row(5000, 25);
  std::vector<int32_t> alone(64), at_once(64);
  SamplerScratch scratch;
  for (int64_t i = 0; i < 64; ++i) alone[static_cast<size_t>(i)] = sampler.sample(row, {}, i, scratch).token;
  std::thread other([&] {
    SamplerScratch own;
    for (int64_t i = 0; i < 32; ++i) at_once[static_cast<size_t>(i)] = sampler.sample(row, {}, i, own).token;
  });
  for (int64_t i = 32; i < 64; ++i) at_once[static_cast<size_t>(i)] = sampler.sample(row, {}, i, scratch).token;
  other.join();
  EXPECT_EQ(at_once, alone);
}

TEST(Sampler, LogprobsAreThoseOfTemperatureOne) {
  const std::vector<float> row = random_row(100, 17);
  const std::vector<double> p = softmax(row, 1.0);
  SamplingParams params = plain(0.3f, 8);
  params.logprobs = 5;
  Drawer sampler(params, 100);
  const Sampled s = sampler.sample(row, {}, 3);
  EXPECT_NEAR(s.logprob, std::log(p[static_cast<size_t>(s.token)]), 1e-6);
  ASSERT_EQ(s.top.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(s.top[i].logprob, std::log(p[static_cast<size_t>(s.top[i].token)]), 1e-6);
    if (i > 0) {
      EXPECT_GE(s.top[i - 1].logprob, s.top[i].logprob);
    }
  }
}

TEST(Sampler, NothingLeftIsStillDefined) {
  for (const float t : {0.0f, 1.0f}) {
    SamplingParams params = plain(t, 1);
    params.logprobs = 2;
    params.logit_bias = {{0, -INFINITY}, {1, -INFINITY}, {2, -INFINITY}};
    Drawer sampler(params, 3);
    const Sampled s = sampler.sample(std::vector<float>{1, 2, 3}, {}, 0);
    EXPECT_EQ(s.token, 0);
    EXPECT_EQ(s.logprob, -INFINITY);
    EXPECT_TRUE(s.top.empty());
    EXPECT_EQ(sampler.sample(std::vector<float>{NAN, NAN, NAN}, {}, 0).token, 0);
    EXPECT_EQ(sampler.sample(std::vector<float>{NAN, -INFINITY, NAN}, {}, 0).token, 1);
  }
}

TEST(Sampler, PenaltyAppliesToGreedyAndLeavesTheRowAlone) {
  SamplingParams params = plain(0.0f, 1);
  params.presence_penalty = 2;
  Drawer sampler(params, 3);
  const std::vector<float> row = {5, 4, 1};
  const std::vector<float> before = row;
  EXPECT_EQ(sampler.sample(row, std::vector<int32_t>{0}, 1).token, 1);
  EXPECT_EQ(sampler.sample(row, {}, 1).token, 0);
  EXPECT_EQ(row, before);
}

}  // namespace
}  // namespace toccata
