#include "sched/cost_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace toccata::sched {
namespace {

StepShape shape(int64_t prefill, int64_t context, int64_t decodes, int64_t decode_context) {
  StepShape s;
  if (prefill > 0) s.add_prefill(context, prefill);
  for (int64_t i = 0; i < decodes; ++i) s.add_decode(decode_context);
  return s;
}

double truth(const StepShape& s) {
  return 0.010 + 0.0016 * static_cast<double>(s.prefill_tokens) + 3e-7 * s.prefill_keys +
         0.002 * static_cast<double>(s.decodes) + 4e-7 * s.decode_keys;
}

StepShape random_shape(std::mt19937& rng) {
  const int64_t prefill = rng() % 3 == 0 ? 0 : static_cast<int64_t>(rng() % 512);
  return shape(prefill, static_cast<int64_t>(rng() % 4000), prefill == 0 ? 1 + static_cast<int64_t>(rng() % 32) : 8,
               static_cast<int64_t>(rng() % 2000));
}

TEST(CostModel, FindsTheCostsBehindNoisySteps) {
  std::mt19937 rng(3);
  std::normal_distribution<double> noise(1.0, 0.03);
  CostModel model;
  EXPECT_FALSE(model.ready());
  EXPECT_EQ(model.predict(shape(100, 0, 8, 100)), 0.0);
  for (int i = 0; i < 300; ++i) {
    const StepShape s = random_shape(rng);
    const double disturbed = rng() % 20 == 0 ? 6.0 : 1.0;  // somebody else had the CPU
    model.observe(s, truth(s) * noise(rng) * disturbed);
  }
  for (int i = 0; i < 100; ++i) {
    const StepShape s = random_shape(rng);
    EXPECT_NEAR(model.predict(s) / truth(s), 1.0, 0.1);
  }
  EXPECT_GT(model.largest_prefill(), 400);
}

TEST(CostModel, RemembersPromptsThroughThousandsOfDecodeSteps) {
  CostModel model;
  for (int i = 0; i < 10; ++i) {
    const StepShape s = shape(100 + 30 * i, 50 * i, 0, 0);
    model.observe(s, truth(s));
  }
  for (int i = 0; i < 5000; ++i) {
    const StepShape s = shape(0, 0, 1 + i % 8, 300 + i % 1000);
    model.observe(s, truth(s));
  }
  const StepShape s = shape(128, 1000, 8, 500);
  EXPECT_NEAR(model.predict(s) / truth(s), 1.0, 0.15);
}

TEST(CostModel, FollowsAMachineThatBecomesSlower) {
  std::mt19937 rng(5);
  CostModel model;
  for (int i = 0; i < 400; ++i) {
    const StepShape s = random_shape(rng);
    model.observe(s, truth(s) * (i < 200 ? 1.0 : 1.5));
  }
  const StepShape s = shape(128, 1000, 8, 500);
  EXPECT_NEAR(model.predict(s) / (1.5 * truth(s)), 1.0, 0.15);
}

TEST(CostModel, NeverPredictsNonsense) {
  std::mt19937 rng(9);
  CostModel model;
  for (int i = 0; i < 500; ++i) {
    const double seconds = i % 7 == 0 ? 0.0 : i % 11 == 0 ? -1.0 : i % 13 == 0 ? NAN : std::pow(10.0, -6.0 + i % 9);
    model.observe(random_shape(rng), seconds);
    const double t = model.predict(random_shape(rng));
    ASSERT_TRUE(std::isfinite(t) && t >= 0) << i;
  }
}

}  // namespace
}  // namespace toccata::sched
