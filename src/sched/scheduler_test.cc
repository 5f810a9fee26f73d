#include "sched/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace toccata::sched {
namespace {

// Blocks of 32 tokens as numbers; no prefix is ever found unless the test says so.
class Counts final : public Memory {
 public:
  explicit Counts(int64_t blocks) : free_(blocks) {}
  std::map<SequenceId, int64_t> cached;  // tokens that attach() finds

  int64_t block_tokens() const override { return 32; }
  int64_t available() const override { return free_; }
  int64_t attach(SequenceId id) override {
    EXPECT_FALSE(held_.contains(id));
    const int64_t blocks = std::min((cached[id] + 31) / 32, free_);
    free_ -= blocks;
    held_[id] = blocks;
    return std::min(cached[id], blocks * 32);
  }
  int64_t needed(SequenceId id, int64_t tokens) const override {
    const auto held = held_.find(id);
    return std::max<int64_t>(0, (tokens + 31) / 32 - (held == held_.end() ? 0 : held->second));
  }
  bool reserve(SequenceId id, int64_t tokens) override {
    const int64_t more = needed(id, tokens);
    if (more > free_) return false;
    free_ -= more;
    held_[id] += more;
    return true;
  }
  void release(SequenceId id) override {
    EXPECT_TRUE(held_.contains(id));
    free_ += held_[id];
    held_.erase(id);
  }
  size_t holders() const { return held_.size(); }

 private:
  int64_t free_;
  std::map<SequenceId, int64_t> held_;
};

// A machine whose steps cost what the model's terms say, on a virtual clock.
struct World {
  Options options;
  Counts memory;
  Scheduler scheduler;
  double now = 0;
  struct Request {
    int64_t prompt, answer, drawn = 0, computed = 0;
    double last_token = -1;
  };
  std::map<SequenceId, Request> open;
  double worst_gap = 0, worst_step = 0;
  std::vector<double> gaps;

  World(const Options& o, int64_t blocks) : options(o), memory(blocks), scheduler(o, memory) {}

  void add(SequenceId id, int64_t prompt, int64_t answer, int priority = 0) {
    open[id] = {prompt, answer, 0, 0, -1};
    scheduler.add({id, prompt, priority, now, std::numeric_limits<double>::infinity(), false});
  }

  static double cost(const StepShape& s) {
    return 0.010 + 0.0015 * static_cast<double>(s.prefill_tokens) + 2e-7 * s.prefill_keys +
           0.003 * static_cast<double>(s.decodes) + 2e-7 * s.decode_keys;
  }

  // One step; every rule that a plan must keep is checked.
  void step() {
    const Plan plan = scheduler.plan(now);
    for (SequenceId id : plan.preempted) open.at(id).computed = 0;
    int64_t rows = 0, prompts = 0;
    std::map<SequenceId, int> seen;
    for (const Slice& s : plan.slices) {
      Request& r = open.at(s.id);
      EXPECT_EQ(++seen[s.id], 1);
      EXPECT_GE(s.count, 1);
      EXPECT_TRUE(s.first == r.computed || r.computed == 0);  // 0: attached to a cached prefix
      EXPECT_LE(s.first + s.count, r.prompt + r.drawn);
      EXPECT_EQ(s.last, s.first + s.count == r.prompt + r.drawn);
      r.computed = s.first + s.count;
      rows += s.count;
      if (s.count > 1) prompts += s.count;
    }
    EXPECT_LE(rows, options.max_rows);
    EXPECT_LE(static_cast<int64_t>(plan.slices.size()), options.max_sequences);
    if (options.chunked) {
      EXPECT_LE(prompts, options.chunk_size > 0 ? options.chunk_size : 512);
    }
    const double seconds = plan.slices.empty() ? 1e-4 : cost(plan.shape);
    now += seconds;
    worst_step = std::max(worst_step, seconds);
    if (plan.slices.empty()) return;
    scheduler.completed();
    scheduler.measured(seconds);
    for (const Slice& s : plan.slices) {
      if (s.last) draw(s.id);
    }
  }

  void draw(SequenceId id) {
    Request& r = open.at(id);
    if (r.last_token >= 0) gaps.push_back(now - r.last_token);
    r.last_token = now;
    if (++r.drawn >= r.answer) {
      open.erase(id);
      scheduler.remove(id);
    } else {
      scheduler.append(id);
    }
  }

  void run_dry(int limit) {
    for (int i = 0; !scheduler.idle(); ++i) {
      ASSERT_LT(i, limit) << "somebody starves";
      step();
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_TRUE(open.empty());
    EXPECT_EQ(memory.holders(), 0u);
  }
};

Options small_options(int64_t sequences, int64_t chunk = 0, double target = 0) {
  Options o;
  o.max_sequences = sequences;
  o.max_rows = sequences + 512;
  o.chunk_size = chunk;
  o.itl_target = target;
  return o;
}

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
    EXPECT_LE(p99, 1.2 * (target > 0 ? target : 4 * plain * 1.1)) << target;
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
