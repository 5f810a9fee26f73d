// Drafted tokens in the plans of the scheduler.
#include <gtest/gtest.h>

#include <random>

#include "sched/testing.h"

namespace toccata::sched {
namespace {

void expect_same_but_drafts(const std::vector<Plan>& got, const std::vector<Plan>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].admitted, want[i].admitted) << i;
    EXPECT_EQ(got[i].preempted, want[i].preempted) << i;
    ASSERT_EQ(got[i].slices.size(), want[i].slices.size()) << i;
    for (size_t k = 0; k < got[i].slices.size(); ++k) {
      const Slice &a = got[i].slices[k], &b = want[i].slices[k];
      ASSERT_TRUE(a.id == b.id && a.first == b.first && a.count == b.count && a.last == b.last) << i;
    }
  }
}

// Drafts that are always wrong: nobody is preempted, admitted, read or delayed otherwise than without them.
TEST(Drafts, TakeNothingFromAnybody) {
  int64_t drafted = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto run = [&](bool draft) {
      std::mt19937 rng(seed), drafts(seed);
      Options o = small_options(1 + static_cast<int64_t>(rng() % 8), 1 + rng() % 200);
      o.max_draft_rows = 1 + static_cast<int64_t>(rng() % 40);
      o.max_rows += o.max_draft_rows;
      o.chunked = rng() % 4 != 0;
      const int64_t blocks = 10 + static_cast<int64_t>(rng() % 12);
      World world(o, blocks);
      world.keep_plans = true;
      if (draft) world.drafts = [&drafts] { return static_cast<int64_t>(drafts() % 33); };
      world.accepts = [] { return 0; };
      for (SequenceId id = 1; id <= 30; ++id) {
        world.add(id, 1 + static_cast<int64_t>(rng() % static_cast<unsigned>(blocks * 16)),
                  1 + static_cast<int64_t>(rng() % 90));
        for (int steps = static_cast<int>(rng() % 20); steps > 0; --steps) world.step();
      }
      world.run_dry(100000);
      return std::move(world.plans);
    };
    const std::vector<Plan> plain = run(false), with = run(true);
    ASSERT_NO_FATAL_FAILURE(expect_same_but_drafts(with, plain));
    for (const Plan& p : with) drafted += p.shape.drafted;
  }
  EXPECT_GT(drafted, 10000);
}

TEST(Drafts, EveryRequestEndsWhateverIsAccepted) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 rng(seed);
    Options o = small_options(1 + static_cast<int64_t>(rng() % 10), rng() % 2 == 0 ? 0 : 1 + rng() % 200);
    o.max_draft_rows = 24;
    o.max_rows += o.max_draft_rows;
    World world(o, 12 + static_cast<int64_t>(rng() % 30));
    world.drafts = [&rng] { return static_cast<int64_t>(rng() % 20); };
    world.accepts = [&rng] { return static_cast<int64_t>(rng() % 20); };
    for (SequenceId id = 1; id <= 40; ++id) {
      world.add(id, 1 + static_cast<int64_t>(rng() % 250), 1 + static_cast<int64_t>(rng() % 120));
      for (int steps = static_cast<int>(rng() % 12); steps > 0; --steps) world.step();
      if (HasFailure()) return;
    }
    world.run_dry(100000);
    if (HasFailure()) return;
  }
}

// What was offered and not planned is forgotten.
TEST(Drafts, AnOfferHoldsForOnePlan) {
  Options o = small_options(2, 512);
  o.max_draft_rows = 8;
  o.max_rows += 8;
  World world(o, 100);
  world.add(1, 10, 50);
  world.step();
  world.scheduler.offer(1, 20);
  EXPECT_EQ(world.scheduler.plan(world.now).slices.at(0).drafted, 8);
  EXPECT_EQ(world.scheduler.plan(world.now).slices.at(0).drafted, 0);
}

}  // namespace
}  // namespace toccata::sched
