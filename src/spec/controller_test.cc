// The controller against machines and texts whose best setting is known.
#include "spec/controller.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace toccata::spec {
namespace {

// Requests whose drafts' tokens are right with a fixed probability each, on a machine whose steps cost
// 1 + row * rows + knee * rows beyond 8.
struct World {
  double accept, row, knee;
  int64_t requests;
  std::mt19937 rng{1};
  Controller controller;
  std::vector<RequestState> states;
  double seconds = 0, tokens = 0;
  int64_t drafted = 0;

  World(double right, double per_row, double beyond = 0, int64_t count = 1)
      : accept(right), row(per_row), knee(beyond), requests(count), states(static_cast<size_t>(count)) {}

  double cost(int64_t rows) const {
    return 1 + row * static_cast<double>(rows) + knee * static_cast<double>(std::max<int64_t>(0, rows - 8));
  }
  // What the engine's linear model would say.
  double predicted(int64_t rows) const { return 1 + row * static_cast<double>(rows); }

  void step(int64_t fixed = 0) {
    std::vector<Controller::Entry> entries;
    std::uniform_real_distribution<double> uniform(0, 1);
    for (RequestState& s : states) {
      s.clear();
      for (int i = 0; i < 32; ++i) s.drafts[0].add(uniform(rng) < accept ? 1 : 2, 3);  // 1 is right
      entries.push_back({&s, fixed});
    }
    controller.plan(
        entries, requests, [this](int64_t r) { return predicted(requests + r); }, 64);
    int64_t rows = 0;
    for (RequestState& s : states) {
      std::vector<int32_t> drawn;
      const auto draft = s.chosen();
      size_t right = 0;
      while (right < draft.size() && draft[right] == 1) ++right;
      drawn.assign(right + 1, 1);
      rows += std::ssize(draft);
      tokens += static_cast<double>(drawn.size());
      controller.observe(s, drawn);
    }
    drafted += rows;
    seconds += cost(requests + rows);
    controller.measured(requests, rows, predicted(requests + rows), cost(requests + rows));
  }

  double best_fixed() const {
    double best = 0;
    for (int64_t k = 0; k <= 32 && requests * k <= 64; ++k) {
      double expected = 0;
      for (int64_t i = 0; i <= k; ++i) expected += std::pow(accept, static_cast<double>(i));
      best = std::max(best, static_cast<double>(requests) * expected / cost(requests * (1 + k)));
    }
    return best;
  }
};

// With a knee the engine's model is wrong, and all that helps is what the controller has measured.
TEST(Controller, IsNeverFarFromTheBestFixedLength) {
  for (const double accept : {0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0}) {
    for (const double row : {0.03, 0.1, 0.3, 1.0}) {
      for (const double knee : {0.0, 1.0}) {
        for (const int64_t requests : {1, 3, 16}) {
          World w{accept, row, knee * row, requests};
          for (int i = 0; i < 100; ++i) w.step();
          w.seconds = w.tokens = 0;
          for (int i = 0; i < 300; ++i) w.step();
          EXPECT_GT(w.tokens / w.seconds, (knee == 0 ? 0.92 : 0.85) * w.best_fixed())
              << "accept " << accept << ", row " << row << ", knee " << knee << ", requests " << requests;
        }
      }
    }
  }
}

TEST(Controller, DraftsNothingThatIsSeldomRightAndSeesWhenItIsAgain) {
  World w{0.02, 0.3};
  for (int i = 0; i < 200; ++i) w.step();
  w.drafted = 0;
  for (int i = 0; i < 500; ++i) w.step();
  EXPECT_EQ(w.drafted, 0);
  w.accept = 0.95;  // nothing was verified meanwhile
  for (int i = 0; i < 150; ++i) w.step();
  EXPECT_GT(w.drafted, 300);
}

TEST(Controller, AFixedLengthIsFixed) {
  World w{0.1, 1.0};
  for (int i = 0; i < 100; ++i) w.step(5);
  EXPECT_EQ(w.drafted, 500);
  World many{0.1, 1.0, 0, 16};
  many.step(5);
  EXPECT_EQ(many.drafted, 64);  // the rows of a step
}

TEST(Controller, WithoutAnyTimesItDraftsNothing) {
  Controller c;
  RequestState s;
  s.drafts[0].add(1, 7);
  const Controller::Entry entry{&s, 0};
  c.plan(
      std::span(&entry, 1), 1, [](int64_t) { return 0.0; }, 64);
  EXPECT_TRUE(s.chosen().empty());
}

TEST(Controller, TakesTheBetterDrafter) {
  Controller c;
  RequestState s;
  for (int i = 0; i < 60; ++i) {
    s.clear();
    for (int k = 0; k < 4; ++k) {
      s.drafts[0].add(2, 5);
      s.drafts[1].add(1, 5);
    }
    const Controller::Entry entry{&s, 4};
    c.plan(
        std::span(&entry, 1), 1, [](int64_t) { return 1.0; }, 64);
    if (i > 30) {
      EXPECT_EQ(s.source, 1);
    }
    c.observe(s, std::vector<int32_t>{1, 1});
  }
}

TEST(Acceptance, FollowsWhatIsLatest) {
  Acceptance a;
  EXPECT_DOUBLE_EQ(a.rate(3, 0.4, 2), 0.4);
  for (int i = 0; i < 500; ++i) a.observe(3, true);
  EXPECT_GT(a.rate(3, 0.4, 2), 0.95);
  EXPECT_DOUBLE_EQ(a.rate(4, 0.4, 2), 0.4);
  for (int i = 0; i < 200; ++i) a.observe(3, false);
  EXPECT_LT(a.rate(3, 0.4, 2), 0.1);
}

}  // namespace
}  // namespace toccata::spec
