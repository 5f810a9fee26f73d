// Stand-ins for tests of the scheduler: a KV cache of counts, and a machine on a virtual clock.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "sched/scheduler.h"

namespace toccata::sched {

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
  void trim(SequenceId id, int64_t tokens) {  // what a rejected draft had taken
    const int64_t kept = (tokens + 31) / 32;
    free_ += std::max<int64_t>(0, held_.at(id) - kept);
    held_[id] = std::min(held_[id], kept);
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
  double worst_step = 0;
  std::function<int64_t()> drafts, accepts;  // tokens drafted for a decode, and how many of those are right
  std::vector<Plan> plans;                   // kept if keep_plans
  bool keep_plans = false;
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
    offer();
    const Plan plan = scheduler.plan(now);
    if (keep_plans) plans.push_back(plan);
    for (SequenceId id : plan.preempted) open.at(id).computed = 0;
    int64_t rows = 0, prompts = 0, drafted = 0;
    std::map<SequenceId, int> seen;
    for (const Slice& s : plan.slices) {
      Request& r = open.at(s.id);
      EXPECT_EQ(++seen[s.id], 1);
      EXPECT_GE(s.count, 1);
      EXPECT_TRUE(s.first == r.computed || r.computed == 0);  // 0: attached to a cached prefix
      EXPECT_LE(s.first + s.count, r.prompt + r.drawn);
      EXPECT_EQ(s.last, s.first + s.count == r.prompt + r.drawn);
      r.computed = s.first + s.count;
      rows += s.count + s.drafted;
      drafted += s.drafted;
      EXPECT_GE(s.drafted, 0);
      EXPECT_TRUE(s.drafted == 0 || (s.count == 1 && s.last));
      EXPECT_EQ(memory.needed(s.id, s.first + s.count + s.drafted), 0);
      if (s.count > 1) prompts += s.count;
    }
    EXPECT_LE(rows, options.max_rows);
    EXPECT_LE(drafted, options.max_draft_rows);
    EXPECT_EQ(plan.shape.drafted, drafted);
    EXPECT_EQ(plan.shape.rows(), rows);
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
      if (s.last) draw(s);
    }
  }

  void offer() {
    if (!drafts) return;
    std::vector<SequenceId> ids;
    scheduler.decoding(ids);
    for (const SequenceId id : ids) scheduler.offer(id, drafts());
  }

  void draw(const Slice& slice) {
    const SequenceId id = slice.id;
    Request& r = open.at(id);
    const int64_t accepted = slice.drafted > 0 ? std::min({accepts(), slice.drafted, r.answer - r.drawn - 1}) : 0;
    if (r.last_token >= 0) gaps.push_back(now - r.last_token);
    r.last_token = now;
    r.drawn += 1 + accepted;
    r.computed += accepted;
    if (r.drawn >= r.answer) {
      open.erase(id);
      scheduler.remove(id);
    } else {
      if (slice.drafted > 0) memory.trim(id, r.prompt + r.drawn);
      scheduler.append(id, 1 + accepted);
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

inline Options small_options(int64_t sequences, int64_t chunk = 0, double target = 0) {
  Options o;
  o.max_sequences = sequences;
  o.max_rows = sequences + 512;
  o.chunk_size = chunk;
  o.itl_target = target;
  return o;
}

}  // namespace toccata::sched
