#include "sim/speculative.h"

#include <gtest/gtest.h>

#include <cmath>

namespace toccata::sim {
namespace {

constexpr int64_t kRounds = 100'000;

// Each count lies within 4.4 standard deviations of the binomial distribution (a chance of 1e-5; the seeds are fixed).
void expect_exact(const std::vector<double>& a, uint64_t seed) {
  const Rounds r = run_rounds(a, seed, kRounds);
  ASSERT_EQ(r.counts.size(), a.size() + 1);
  double all = 0;
  for (size_t k = 0; k <= a.size(); ++k) {
    const double p = exactly(a, k), n = static_cast<double>(kRounds);
    EXPECT_NEAR(static_cast<double>(r.counts[k]), n * p, 4.4 * std::sqrt(n * p * (1 - p))) << "kept " << k;
    all += p;
  }
  EXPECT_NEAR(all, 1, 1e-12);
  EXPECT_NEAR(r.tokens_per_round() / expected_tokens(a), 1, 0.01);
}

TEST(SpeculativeRounds, CountsAreThoseOfTheProbabilities) {
  expect_exact(classic_lesson().kept, 1);
  for (const double a : {0.0, 0.3, 0.6, 0.9, 1.0}) {
    for (const size_t k : {1, 4, 8}) expect_exact(std::vector<double>(k, a), 2);
  }
}

TEST(SpeculativeRounds, FormulasOfEqualProbabilities) {
  for (const double a : {0.1, 0.5, 0.75, 0.9}) {
    for (const size_t k : {1, 3, 7}) {
      const std::vector<double> p(k, a);
      EXPECT_NEAR(expected_tokens(p), (1 - std::pow(a, static_cast<double>(k + 1))) / (1 - a), 1e-12);
    }
  }
  EXPECT_NEAR(expected_tokens(std::vector<double>(4, 1.0)), 5, 1e-12);
  EXPECT_NEAR(speed_up(3, 4, 0.05, 1.3), 2.0, 1e-12);
}

TEST(SpeculativeRounds, EachBeginsBehindTheOneBefore) {
  const std::vector<double> a(4, 0.7);
  const Rounds r = run_rounds(a, 5, 20);
  int64_t position = 0;
  for (const size_t kept : r.first) {
    EXPECT_EQ(kept, kept_of(a, 5, position));
    position += static_cast<int64_t>(kept) + 1;
  }
}

TEST(Lesson, TextsOfAllOutcomes) {
  Lesson lesson = classic_lesson();
  ASSERT_TRUE(lesson.validate());
  EXPECT_EQ(lesson_text(lesson, 0),
            "=== STARTING SPECULATIVE DECODING VALIDATION ===\n"
            "Draft Model Candidates: ['the', 'quick', 'red', 'fox', 'leaps']\n"
            "❌ Token 'the' REJECTED (Prob: 0.99)\n"
            "🔧 Target model corrected token to: 'jumps'\n"
            "\n"
            "--- PERFORMANCE SUMMARY ---\n"
            "Total draft tokens evaluated: 5\n"
            "Tokens accepted before rejection: 0\n"
            "Final validated sequence: jumps\n"
            "=================================================\n");
  const std::string all = lesson_text(lesson, 5);
  EXPECT_NE(all.find("✅ Token 'fox' accepted (Prob: 0.90)\n✅ Token 'leaps' accepted (Prob: 0.10)\n\n"),
            std::string::npos);
  EXPECT_NE(all.find("sequence: the quick red fox leaps\n="), std::string::npos);
  lesson.kept[0] = 0.125;
  EXPECT_NE(lesson_text(lesson, 1).find("(Prob: 0.125)"), std::string::npos);
}

TEST(Lesson, RefusesWhatCannotBe) {
  Lesson lesson = classic_lesson();
  lesson.kept.pop_back();
  EXPECT_FALSE(lesson.validate());
  lesson.kept.push_back(1.5);
  EXPECT_FALSE(lesson.validate());
  lesson.kept.back() = 0.5;
  lesson.tokens.back() = "jumps";
  EXPECT_FALSE(lesson.validate());
  lesson.corrections["jumps"] = "sleeps";
  EXPECT_TRUE(lesson.validate());
  EXPECT_FALSE(Lesson().validate());
}

}  // namespace
}  // namespace toccata::sim
