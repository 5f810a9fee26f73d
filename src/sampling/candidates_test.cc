#include "sampling/candidates.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace toccata {
namespace {

// Few distinct values, so that ties are common.
std::vector<float> tied_row(size_t n, unsigned seed, int values) {
  std::mt19937 gen(seed);
  std::vector<float> row(n);
  for (float& x : row) x = static_cast<float>(gen() % static_cast<unsigned>(values)) * 0.25f - 3.0f;
  return row;
}

std::vector<Candidate> sorted_all(const std::vector<float>& row) {
  std::vector<Candidate> all;
  for (size_t i = 0; i < row.size(); ++i) all.push_back({row[i], static_cast<int32_t>(i), 0.0, 0.0});
  std::sort(all.begin(), all.end(), ranks_before);
  return all;
}

std::vector<Candidate> best_of(const std::vector<float>& row, size_t k) {
  std::vector<float> tops;
  std::vector<Candidate> best;
  toccata::best_of(look_at(row, tops), k, best);
  return best;
}

TEST(Candidates, BestOfEqualsFullSort) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const std::vector<float> row = tied_row(1 + seed * 97, seed, 1 + static_cast<int>(seed * seed));
    const std::vector<Candidate> all = sorted_all(row);
    for (const size_t k : {size_t{0}, size_t{1}, size_t{7}, size_t{40}, size_t{300}, row.size(), row.size() + 9}) {
      const std::vector<Candidate> best = best_of(row, k);
      ASSERT_EQ(best.size(), std::min(k, row.size()));
      for (size_t i = 0; i < best.size(); ++i) ASSERT_EQ(best[i].token, all[i].token) << "seed " << seed << " k " << k;
    }
  }
}

TEST(Candidates, BestOfSkipsNanAndMinusInfinity) {
  const std::vector<Candidate> best = best_of({NAN, -INFINITY, 1.0f, NAN, INFINITY, 1.0f}, 5);
  ASSERT_EQ(best.size(), 3u);
  EXPECT_EQ(best[0].token, 4);
  EXPECT_EQ(best[1].token, 2);
  EXPECT_EQ(best[2].token, 5);
}

// The front by a full sort; weights are small integers, so all sums are exact.
TEST(Candidates, KeepFrontIsTheShortestThatHoldsEnough) {
  std::minstd_rand gen(5);
  for (int round = 0; round < 300; ++round) {
    const size_t n = 1 + gen() % 400;
    std::vector<Candidate> all =
        sorted_all(tied_row(n, static_cast<unsigned>(round), 1 + static_cast<int>(gen() % 90)));
    double total = 0;
    for (Candidate& c : all) total += c.weight = static_cast<double>(gen() % 5);
    const double needed = round % 10 == 0 ? total + 1 : static_cast<double>(gen() % (static_cast<unsigned>(total) + 2));
    size_t expected = 0;
    for (double held = 0; expected < n && (expected == 0 || held < needed); ++expected) held += all[expected].weight;
    std::vector<Candidate> work = all;
    std::shuffle(work.begin(), work.end(), gen);
    keep_front(work, ranks_before, needed);
    std::sort(work.begin(), work.end(), ranks_before);
    ASSERT_EQ(work.size(), expected) << "round " << round;
    for (size_t i = 0; i < work.size(); ++i) ASSERT_EQ(work[i].token, all[i].token);
  }
}

TEST(Candidates, ArgmaxTakesLowestIdAndNeverNan) {
  EXPECT_EQ(argmax(std::vector<float>{1, 3, 3, 2}), 1);
  EXPECT_EQ(argmax(std::vector<float>{NAN, 1, NAN, 2, NAN}), 3);
  EXPECT_EQ(argmax(std::vector<float>{NAN, -INFINITY, -INFINITY}), 1);
  EXPECT_EQ(argmax(std::vector<float>{-INFINITY, -INFINITY}), 0);
  EXPECT_EQ(argmax(std::vector<float>{NAN, NAN}), 0);
  for (const size_t at : {size_t{0}, size_t{127}, size_t{128}, size_t{299}}) {
    std::vector<float> row(300, -1.0f);
    row[at] = row[299] = 2.0f;
    EXPECT_EQ(argmax(row), static_cast<int32_t>(at));
  }
  EXPECT_EQ(argmax(std::vector<float>{-1, INFINITY, INFINITY}), 1);
}

TEST(Candidates, LogSumExp) {
  EXPECT_DOUBLE_EQ(log_sum_exp(std::vector<float>(7, 2.0f)), 2.0 + std::log(7.0));
  EXPECT_DOUBLE_EQ(log_sum_exp(std::vector<float>{1000.0f, 1000.0f}), 1000.0 + std::log(2.0));
  EXPECT_DOUBLE_EQ(log_sum_exp(std::vector<float>{-1000.0f, NAN}), -1000.0);
  EXPECT_EQ(log_sum_exp(std::vector<float>{-INFINITY, NAN}), -INFINITY);
  EXPECT_EQ(log_sum_exp(std::vector<float>{INFINITY, 1}), INFINITY);
  std::vector<float> row = tied_row(1000, 9, 80);
  double sum = 0;
  for (float x : row) sum += std::exp(static_cast<double>(x));
  EXPECT_NEAR(log_sum_exp(row), std::log(sum), 1e-12);
}

TEST(Candidates, LogprobOfUndefinedIsMinusInfinity) {
  EXPECT_EQ(logprob_of(-INFINITY, -INFINITY), -INFINITY);
  EXPECT_EQ(logprob_of(INFINITY, INFINITY), -INFINITY);
  EXPECT_EQ(logprob_of(NAN, 1.0), -INFINITY);
  EXPECT_FLOAT_EQ(logprob_of(1.0f, 3.0), -2.0f);
}

}  // namespace
}  // namespace toccata
