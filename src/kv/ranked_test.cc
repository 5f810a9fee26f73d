// Evictions by rank against a list of tokens: who stays, and that K, V and what is remembered move together.
#include "kv/ranked.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

namespace toccata::kv {
namespace {

KvPolicy rule_of(const char* name, int64_t budget, int64_t sinks, int64_t recent, int64_t interval) {
  KvPolicy rule;
  rule.name = name;
  rule.budget = budget;
  rule.sinks = sinks;
  rule.recent = recent;
  rule.interval = interval;
  return rule;
}

constexpr int kDim = 8;

// The token at `position` has K and V made of its position.
struct World {
  CachePlan plan;
  Layout layout{1, 1, kDim, DType::kF32, DType::kF32};
  Pool pool;
  RankedState state;
  std::vector<BlockId> blocks;
  std::map<int64_t, int64_t> slots;  // position -> slot

  explicit World(const CachePlan& p)
      : plan(p), pool(*Pool::create(layout, p.ring)), state(*RankedState::create(p, 1, 1)) {
    for (int64_t i = 0; i < plan.ring; ++i) blocks.push_back(*pool.allocate());
    std::reverse(blocks.begin(), blocks.end());
  }
  float* k(int64_t slot) { return reinterpret_cast<float*>(pool.head(0, blocks[slot / 32], 0)) + slot % 32; }
  float* v(int64_t slot) {
    return reinterpret_cast<float*>(pool.head(0, blocks[slot / 32], 0) + layout.k_bytes()) + slot % 32 * kDim;
  }
  void write(int64_t position, int64_t slot, float attention) {
    slots[position] = slot;
    for (int d = 0; d < kDim; ++d) {
      k(slot)[d * 32] = static_cast<float>(position * 10 + d);
      v(slot)[d] = static_cast<float>(-position * 10 - d);
    }
    state.attention(0, 0)[slot] += attention;
  }
};

void run(const CachePlan& plan, unsigned seed) {
  World w(plan);
  std::mt19937 rng(seed);
  std::map<int64_t, float> held;  // position -> attention, by the rule
  EvictionScratch scratch;
  for (int64_t at = 0; at < 4 * plan.dense + 200; ++at) {
    if (at >= plan.dense && at % plan.interval == 0) {
      evict(plan, w.state, w.pool, 0, 0, w.blocks.data(), at, scratch);
      std::vector<Policy::Token> tokens;
      for (const auto& [p, a] : held) {
        if (p >= plan.sinks && p < at - (plan.recent - 1)) tokens.push_back({static_cast<int32_t>(p), a, 0});
      }
      plan.ranking->weigh(tokens);
      std::sort(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) {
        return a.weight < b.weight || (a.weight == b.weight && a.position < b.position);
      });
      for (size_t i = 0; std::ssize(held) > plan.budget - 1; ++i) held.erase(tokens[i].position);
      // The first budget - 1 slots hold these, each with its own K, V and attention.
      std::map<int64_t, float> got;
      for (int64_t slot = 0; slot < plan.budget - 1; ++slot) {
        const int64_t p = w.state.positions(0, 0)[slot];
        for (int d = 0; d < kDim; ++d) {
          ASSERT_EQ(w.k(slot)[d * 32], static_cast<float>(p * 10 + d));
          ASSERT_EQ(w.v(slot)[d], static_cast<float>(-p * 10 - d));
        }
        got[p] = w.state.attention(0, 0)[slot];
      }
      if (plan.ranking->by_latest_queries()) {
        for (auto& [p, a] : held) a = 0;
      }
      ASSERT_EQ(got, held) << "at " << at;
      for (int64_t slot = plan.budget - 1; slot < w.state.slots(); ++slot) {
        ASSERT_EQ(w.state.attention(0, 0)[slot], 0.0f);
      }
    }
    const bool dense = at < plan.dense;
    const float attention = static_cast<float>(rng() % 5);  // many are equal
    w.write(at, dense ? at : plan.kept_blocks * 32 + at % plan.interval, attention);
    held[at] = attention;
    std::vector<int32_t> positions;
    for (const auto& [p, a] : held) positions.push_back(static_cast<int32_t>(p));
    ASSERT_EQ(held_positions(plan, &w.state, 0, 0, at + 1), positions) << "after " << at;
    ASSERT_EQ(std::ssize(positions), plan.kept(at + 1));
  }
}

TEST(Ranked, KeepsWhomTheRuleKeeps) {
  unsigned seed = 0;
  for (const char* name : {"h2o", "snapkv"}) {
    for (int64_t budget : {1, 2, 31, 33, 100}) {
      for (int64_t interval : {1, 7, 32, 50}) {
        for (int64_t sinks : {0, 4}) {
          for (int64_t recent : {1, 10, 60}) {
            const Result<CachePlan> plan = make_plan(rule_of(name, budget, sinks, recent, interval), {});
            if (sinks + recent > budget) {
              EXPECT_FALSE(plan.has_value());
              continue;
            }
            ASSERT_TRUE(plan.has_value()) << plan.error().message;
            run(*plan, ++seed);
            if (testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(HeldPositions, ByPosition) {
  const CachePlan plan = *make_plan(rule_of("streaming", 6, 2, 0, 4), {});
  EXPECT_EQ(held_positions(plan, nullptr, 0, 0, 6), (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(held_positions(plan, nullptr, 0, 0, 7), (std::vector<int32_t>{0, 1, 3, 4, 5, 6}));
  EXPECT_EQ(held_positions(plan, nullptr, 0, 0, 100), (std::vector<int32_t>{0, 1, 96, 97, 98, 99}));
  EXPECT_EQ(held_positions({}, nullptr, 0, 0, 3), (std::vector<int32_t>{0, 1, 2}));
}

TEST(Ranked, SharesOutTheBudgetAsThePapersDo) {
  KvPolicy rule = rule_of("h2o", 255, 0, 0, 1);
  EXPECT_EQ(make_plan(rule, {})->recent, 128);  // budget - budget / 2
  rule.heavy_ratio = 0.25f;
  EXPECT_EQ(make_plan(rule, {})->recent, 192);
  rule.heavy_ratio = 1.0f;
  EXPECT_EQ(make_plan(rule, {})->recent, 1);
  rule.heavy_ratio = 1.5f;
  EXPECT_FALSE(make_plan(rule, {}));
  EXPECT_FALSE(make_plan(rule_of("h2o", 0, 0, 0, 1), {}));
  EXPECT_FALSE(make_plan(rule_of("snapkv", 1 << 20, 0, 0, 1), {}));
}

TEST(Ranked, NeverHoldsMoreThanBudgetAndInterval) {
  for (int64_t budget : {1, 33, 100, 1024}) {
    for (int64_t interval : {1, 32, 100}) {
      const CachePlan plan = *make_plan(rule_of("h2o", budget, 0, 0, interval), {});
      EXPECT_LE(plan.ring * 32, budget + interval + 62);
      for (int64_t tokens = 1; tokens < 3 * budget; ++tokens) {
        EXPECT_LE(plan.blocks(tokens), plan.ring);
        EXPECT_LE(plan.kept(tokens), budget + interval - 1);
      }
      EXPECT_EQ(plan.until_eviction(5), 1);
      EXPECT_FALSE(plan.can_return(10, 9));
      EXPECT_EQ(plan.shareable(64), 0);
    }
  }
  EXPECT_EQ(make_plan(rule_of("h2o", 1024, 0, 0, 32), {})->ring, 33);
}

}  // namespace
}  // namespace toccata::kv
