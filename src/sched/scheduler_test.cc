#include "sched/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sched/testing.h"

namespace toccata::sched {
namespace {

TEST(Scheduler, EveryRequestEndsAndEveryPlanKeepsTheRules) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 rng(seed);
    Options o = small_options(1 + static_cast<int64_t>(rng() % 10), rng() % 2 == 0 ? 0 : 1 + rng() % 200,
                              rng() % 2 == 0 ? 0.0 : 0.05);
    o.chunked = rng() % 4 != 0;
    const int64_t blocks = 12 + static_cast<int64_t>(rng() % 30);
    World world(o, blocks);
    for (SequenceId id = 1; id <= 60; ++id) {
      const int64_t prompt = 1 + static_cast<int64_t>(rng() % static_cast<unsigned>(blocks * 32 - 80));
      if (rng() % 3 == 0) world.memory.cached[id] = static_cast<int64_t>(rng() % static_cast<unsigned>(prompt));
      world.add(id, prompt, 1 + static_cast<int64_t>(rng() % 70), static_cast<int>(rng() % 4) - 1);
      for (int steps = static_cast<int>(rng() % 12); steps > 0; --steps) world.step();
      if (rng() % 8 == 0 && !world.open.empty()) {
        const SequenceId victim = std::next(world.open.begin(), rng() % world.open.size())->first;
        world.open.erase(victim);
        world.scheduler.remove(victim);
      }
      if (HasFailure()) return;
    }
    world.run_dry(200000);
    if (HasFailure()) return;
  }
}

TEST(Scheduler, RunsEveryDecodeInEveryStepBesideALongPrompt) {
  for (double target : {0.0, 0.06, 0.1, 0.3}) {
    World world(small_options(16, 0, target), 1000);
    for (SequenceId id = 1; id <= 8; ++id) world.add(id, 64, 400);
    for (int i = 0; i < 60; ++i) world.step();
    world.gaps.clear();
    world.add(100, 3000, 2);
    while (world.open.contains(100)) world.step();
    std::sort(world.gaps.begin(), world.gaps.end());
    const double p99 = world.gaps[world.gaps.size() * 99 / 100];
    const double plain = 0.010 + 8 * 0.003;
    EXPECT_LE(p99, 1.2 * (target > 0 ? target : 8 * plain * 1.1)) << target;
    if (target > 0) {
      EXPECT_GE(p99, 0.6 * target) << "small chunks cost time";
    }
  }
}

// Tokens behind a long cached prefix cost more than they seemed to before it was looked up.
TEST(Scheduler, TakesNothingOfAPromptWhoseCachedPrefixMakesItTooDear) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 rng(seed);
    World world(small_options(24, 0, 0.03 + 0.005 * static_cast<double>(rng() % 20)), 20000);
    for (SequenceId id = 1; id <= 60; ++id) {
      const int64_t prompt = 1 + static_cast<int64_t>(rng() % 9000);
      world.memory.cached[id] = std::max<int64_t>(0, prompt - 1 - static_cast<int64_t>(rng() % 40));
      world.add(id, prompt, 1 + static_cast<int64_t>(rng() % 30));
      for (int steps = static_cast<int>(rng() % 3); steps > 0; --steps) world.step();
      if (HasFailure()) return;
    }
    world.run_dry(20000);
    if (HasFailure()) return;
  }
}

TEST(Scheduler, GivesAPromptWholeChunksWhenNobodyDecodes) {
  World world(small_options(4), 1000);
  world.add(1, 2048, 1);
  for (int i = 0; i < 4; ++i) world.step();
  EXPECT_TRUE(world.open.empty());
}

TEST(Scheduler, LetsAShortPromptPassALongOne) {
  World world(small_options(8, 64), 1000);
  world.add(1, 6000, 5);
  for (int i = 0; i < 5; ++i) world.step();
  world.add(2, 60, 1);
  for (int i = 0; i < 4; ++i) world.step();
  EXPECT_FALSE(world.open.contains(2));
  EXPECT_TRUE(world.open.contains(1));
}

TEST(Scheduler, AdmitsByPriorityAndAge) {
  Options o = small_options(1, 512);
  o.ageing_seconds = 5;
  World world(o, 1000);
  world.add(1, 10, 1000);
  world.step();
  world.add(2, 10, 1, 1);  // arrives at about 0, rank 5
  world.now = 1.0;
  world.add(3, 10, 1, 0);  // rank 1: before 2
  world.now = 7.0;
  world.add(4, 10, 1, 0);  // rank 7: after 2, which has waited longer than a level is worth
  world.scheduler.remove(1);
  world.open.erase(1);
  std::vector<SequenceId> order;
  for (int i = 0; i < 3; ++i) {
    const Plan plan = world.scheduler.plan(world.now);
    ASSERT_EQ(plan.slices.size(), 1u);
    order.push_back(plan.slices[0].id);
    world.scheduler.completed();
    world.scheduler.remove(plan.slices[0].id);
  }
  EXPECT_EQ(order, (std::vector<SequenceId>{3, 2, 4}));
}

TEST(Scheduler, PreemptsTheLastInRankAndBringsItBack) {
  World world(small_options(4, 512), 4);  // 128 tokens
  world.add(1, 60, 60);
  world.add(2, 60, 60);
  bool preempted = false;
  for (int i = 0; i < 400 && !world.open.empty(); ++i) {
    const Plan before = world.scheduler.plan(world.now);  // plan() again without a step changes nothing but times
    preempted |= std::count(before.preempted.begin(), before.preempted.end(), SequenceId{2}) > 0;
    EXPECT_EQ(std::count(before.preempted.begin(), before.preempted.end(), SequenceId{1}), 0);
    for (SequenceId id : before.preempted) world.open.at(id).computed = 0;
    world.step();
  }
  EXPECT_TRUE(preempted);
  EXPECT_TRUE(world.open.empty());
}

TEST(Scheduler, EndsWhatIsPastItsDeadline) {
  Counts memory(10);
  Scheduler s(small_options(1, 512), memory);
  s.add({1, 10, 0, 0.0, 1.0, false});
  s.add({2, 10, 0, 0.0, 2.0, false});
  EXPECT_EQ(s.plan(0.5).slices.size(), 1u);
  const Plan late = s.plan(1.0);
  EXPECT_EQ(late.expired, std::vector<SequenceId>{1});
  ASSERT_EQ(late.slices.size(), 1u);
  EXPECT_EQ(late.slices[0].id, 2u);
  EXPECT_EQ(s.plan(2.5).expired, std::vector<SequenceId>{2});
  EXPECT_TRUE(s.idle());
  EXPECT_EQ(memory.holders(), 0u);
}

TEST(Scheduler, ReadsPromptsInStepsOfTheirOwnWhenNotChunked) {
  Options o = small_options(8);
  o.chunked = false;
  World world(o, 1000);
  world.add(1, 10, 50);
  for (int i = 0; i < 5; ++i) world.step();
  world.add(2, 1000, 50);
  Plan plan = world.scheduler.plan(world.now);
  ASSERT_EQ(plan.slices.size(), 1u);
  EXPECT_EQ(plan.slices[0].count, o.max_rows);
  world.scheduler.completed();
  plan = world.scheduler.plan(world.now);
  ASSERT_EQ(plan.slices.size(), 1u);
  EXPECT_EQ(plan.slices[0].count, 1000 - o.max_rows);
}

}  // namespace
}  // namespace toccata::sched
