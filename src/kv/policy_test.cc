#include "kv/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace toccata::kv {
namespace {

KvPolicy streaming(int64_t budget, int64_t sinks, int64_t interval = 32, int64_t recent = 0) {
  KvPolicy rule;
  rule.name = "streaming";
  rule.budget = budget;
  rule.sinks = sinks;
  rule.recent = recent;
  rule.interval = interval;
  return rule;
}

std::string fault(const KvPolicy& rule) {
  const Result<CachePlan> plan = make_plan(rule, {});
  return plan ? "" : plan.error().message;
}

TEST(KvPolicy, FullKeepsEverything) {
  const Result<CachePlan> plan = make_plan({}, {512});
  ASSERT_TRUE(plan.has_value());
  EXPECT_FALSE(plan->evicts());
  EXPECT_FALSE(plan->evicted(1 << 30));
  EXPECT_EQ(plan->blocks(33), 2);
  EXPECT_EQ(plan->entry(12345), 12345);
  EXPECT_EQ(plan->until_eviction(5), INT64_MAX);
  EXPECT_TRUE(plan->can_return(1000, 3));
}

TEST(KvPolicy, RefusesWhatCannotBe) {
  EXPECT_EQ(fault(streaming(100, 4)), "");
  EXPECT_EQ(fault(streaming(0, 4, 32, 60)), "");
  EXPECT_EQ(fault(streaming(64, 4, 32, 60)), "");
  EXPECT_EQ(fault(streaming(1, 0, 1)), "");
  EXPECT_NE(fault(streaming(0, 4)).find("budget"), std::string::npos);
  EXPECT_NE(fault(streaming(4, 4)).find("sinks"), std::string::npos);
  EXPECT_NE(fault(streaming(100, 4, 32, 60)).find("60"), std::string::npos);
  EXPECT_NE(fault(streaming(100, 4, 0)).find("interval"), std::string::npos);
  EXPECT_NE(fault(streaming(100, 4, 513)).find("interval"), std::string::npos);
  EXPECT_NE(fault(streaming(-1, 4)).find("budget"), std::string::npos);
  EXPECT_NE(fault(streaming(100, -1)).find("sinks"), std::string::npos);
  EXPECT_NE(fault(streaming(INT64_MAX, 4)).find("budget"), std::string::npos);
  KvPolicy unknown;
  unknown.name = "best";
  EXPECT_NE(fault(unknown).find("streaming"), std::string::npos);
}

// Whatever a query sees is still in its slot when the piece that the query belongs to has been written, and the table
// has no more entries than the plan says.
TEST(KvPolicy, NoVisibleTokenLosesItsSlot) {
  for (const int64_t window : {0, 200}) {
    for (const int64_t budget : {1, 33, 64, 100, 129}) {
      for (const int64_t sinks : {0, 1, 4, 32, 33, 70}) {
        for (const int64_t interval : {1, 5, 32, 100, 512}) {
          if (sinks >= budget) continue;
          const CachePlan plan = *make_plan(streaming(budget, sinks, interval), {window});
          std::map<int64_t, int64_t> slots;  // slot -> position
          const auto slot = [&](int64_t p) { return plan.entry(p / 32) * 32 + p % 32; };
          for (int64_t begin = 0; begin < 1500;) {
            const int64_t end = begin < budget ? budget : (begin / interval + 1) * interval;
            for (int64_t p = begin; p < end; ++p) {
              ASSERT_LT(plan.entry(p / 32), plan.blocks(p + 1));
              slots[slot(p)] = p;
            }
            for (int64_t q = begin; q < end; ++q) {
              const int64_t latest = q < budget ? 0 : q - (budget - sinks) + 1;
              const int64_t first = window > 0 ? std::max<int64_t>(0, std::min(latest, q - window + 1)) : latest;
              for (int64_t p = first; p <= q; ++p) ASSERT_EQ(slots[slot(p)], p) << "query " << q;
              for (int64_t p = 0; p < sinks && p <= q; ++p) ASSERT_EQ(slots[slot(p)], p) << "query " << q;
            }
            begin = end;
          }
          EXPECT_LE(plan.blocks(INT64_MAX / 64) * 32,
                    std::max(budget - sinks, window) + interval + (sinks + 31) / 32 * 32 + 31);
        }
      }
    }
  }
}

TEST(KvPolicy, DraftsEndBeforeAnEviction) {
  const CachePlan plan = *make_plan(streaming(100, 4, 16), {});
  EXPECT_EQ(plan.until_eviction(0), 100);
  EXPECT_EQ(plan.until_eviction(99), 1);
  EXPECT_EQ(plan.until_eviction(100), 12);
  EXPECT_EQ(plan.until_eviction(111), 1);
  EXPECT_EQ(plan.until_eviction(112), 16);
  for (int64_t at = 0; at < 300; ++at) {
    for (int64_t n = 1; n <= plan.until_eviction(at); ++n) EXPECT_TRUE(plan.can_return(at + n, at));
    if (at >= 100) {
      EXPECT_FALSE(plan.can_return(at + plan.until_eviction(at) + 1, at));
    }
  }
  EXPECT_FALSE(plan.can_return(101, 99));
  EXPECT_TRUE(plan.can_return(100, 3));
}

}  // namespace
}  // namespace toccata::kv
