#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace toccata {
namespace {

// 64 threads on few CPUs is the oversubscribed case.
class ThreadPoolTest : public testing::TestWithParam<int> {};

TEST_P(ThreadPoolTest, EveryRankRunsOncePerRegion) {
  ThreadPool pool(GetParam());
  ASSERT_EQ(pool.size(), GetParam());
  std::vector<int> runs(static_cast<size_t>(GetParam()), 0);
  for (int region = 0; region < 200; ++region) {
    pool.run([&](Team& team) {
      EXPECT_EQ(team.size(), GetParam());
      ++runs[static_cast<size_t>(team.rank())];
    });
  }
  for (const int n : runs) EXPECT_EQ(n, 200);
}

// The writes are not atomic on purpose: only the barriers order them, which TSan checks.
TEST_P(ThreadPoolTest, BarrierOrdersPlainWrites) {
  const int n = GetParam();
  const int phases = n > 16 ? 20 : 500;
  ThreadPool pool(n);
  std::vector<int> slot(static_cast<size_t>(n), 0);
  std::atomic<int> faults{0};
  pool.run([&](Team& team) {
    for (int phase = 1; phase <= phases; ++phase) {
      slot[static_cast<size_t>(team.rank())] = phase;
      team.barrier();
      if (slot[static_cast<size_t>((team.rank() + 1) % n)] != phase) ++faults;
      team.barrier();
    }
  });
  EXPECT_EQ(faults, 0);
}

TEST_P(ThreadPoolTest, ParallelForCoversEachIndexOnce) {
  ThreadPool pool(GetParam());
  std::vector<int> count(1000, 0);
  std::vector<std::pair<int64_t, int64_t>> cases = {{0, 1}, {1, 1}, {7, 3}, {1000, 1}, {1000, 64}, {64, 64}, {65, 64}};
  for (int repeat = 0; repeat < (GetParam() > 16 ? 2 : 20); ++repeat) {
    std::fill(count.begin(), count.end(), 0);
    pool.run([&](Team& team) {
      for (const auto& [n, grain] : cases) {
        team.parallel_for(n, grain, [&, grain = grain](int64_t begin, int64_t end) {
          EXPECT_LT(begin, end);
          EXPECT_LE(end - begin, grain);
          for (int64_t i = begin; i < end; ++i) ++count[static_cast<size_t>(i)];
        });
      }
    });
    for (int64_t i = 0; i < 1000; ++i) {
      int expected = 0;
      for (const auto& c : cases) expected += i < c.first;
      ASSERT_EQ(count[static_cast<size_t>(i)], expected) << i;
    }
  }
}

// Mixed phases with very uneven work: a fast thread runs ahead as far as the barriers let it.
TEST_P(ThreadPoolTest, ConsecutiveLoopsAndBarriersDoNotMix) {
  ThreadPool pool(GetParam());
  std::vector<int64_t> values(97, 1);
  const int rounds = GetParam() > 16 ? 5 : 60;
  for (int round = 0; round < rounds; ++round) {
    pool.run([&](Team& team) {
      for (int phase = 0; phase < 5; ++phase) {
        team.parallel_for(97, 1 + phase, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) values[static_cast<size_t>(i)] += i % (phase + 1);
          if (begin == 0 && round % 20 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
        });
        if (phase % 2 == 0) team.barrier();
      }
    });
  }
  for (int64_t i = 0; i < 97; ++i) {
    int64_t expected = 1;
    for (int phase = 0; phase < 5; ++phase) expected += rounds * (i % (phase + 1));
    ASSERT_EQ(values[static_cast<size_t>(i)], expected) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadPoolTest, testing::Values(1, 2, 3, 4, 8, 64));

// Longer idle than the spin: the workers sleep in the kernel, inside a region and between regions.
TEST(ThreadPool, WakesSleepers) {
  ThreadPool pool(3);
  int sum = 0;
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    pool.run([&](Team& team) {
      if (team.rank() == i % 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      team.barrier();
      if (team.rank() == 0) ++sum;
    });
  }
  EXPECT_EQ(sum, 20);
}

TEST(ThreadPool, ConstructAndDestroyWithoutWork) {
  for (int i = 0; i < 50; ++i) ThreadPool pool(1 + i % 5);
}

TEST(ThreadPool, TwoPoolsWorkSideBySide) {
  std::atomic<int> total{0};
  const auto use = [&total] {
    ThreadPool pool(3);
    for (int i = 0; i < 100; ++i) {
      pool.run([&](Team& team) {
        team.parallel_for(10, 1, [&](int64_t begin, int64_t end) { total += static_cast<int>(end - begin); });
      });
    }
  };
  std::thread other(use);
  use();
  other.join();
  EXPECT_EQ(total, 2000);
}

// A fault that shows only with a real race: a sum over partial results that each rank wrote plainly.
TEST(ThreadPool, ReductionThroughTwoBarriers) {
  ThreadPool pool(4);
  std::vector<int64_t> partial(4), result(4);
  for (int round = 0; round < 300; ++round) {
    pool.run([&](Team& team) {
      const auto rank = static_cast<size_t>(team.rank());
      partial[rank] = round * (team.rank() + 1);
      team.barrier();
      result[rank] = std::accumulate(partial.begin(), partial.end(), int64_t{0});
    });
    for (const int64_t r : result) ASSERT_EQ(r, round * 10);
  }
}

}  // namespace
}  // namespace toccata
