#include "sim/scheduling.h"

#include <gtest/gtest.h>

#include "sim/timeline.h"

namespace toccata::sim {
namespace {

// 10 ms a step, 0.1 ms a prompt token, 1 ms a decode.
constexpr StepCost kSimple{0.010, 0, 0.0001, 0, 0.001, 0};

sched::Options options(bool chunked, int64_t chunk, double target = 0) {
  sched::Options o;
  o.max_sequences = 8;
  o.max_rows = 4200;
  o.chunked = chunked;
  o.chunk_size = chunk;
  o.itl_target = target;
  return o;
}

void expect_times(const std::vector<double>& seen, const std::vector<double>& wanted) {
  ASSERT_EQ(seen.size(), wanted.size());
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_NEAR(seen[i], wanted[i], 1e-9) << i;
}

// A is answered when B's 1,000 tokens arrive.
const std::vector<SimRequest> kTwo = {{0, 100, 6}, {0.025, 1000, 2}};

TEST(Scheduling, HandWorkedWithChunks) {
  // A reads 100 tokens (20 ms), decodes (11 ms); B arrives in that step. Two steps of a decode and 500 tokens (61 ms),
  // one of two decodes (12 ms) with which B ends, one of A alone.
  const Result<SimRun> run = run_schedule(kTwo, options(true, 500), 100, kSimple, true);
  ASSERT_TRUE(run);
  expect_times(run->tokens[0], {0.020, 0.031, 0.092, 0.153, 0.165, 0.176});
  expect_times(run->tokens[1], {0.153, 0.165});
  EXPECT_NEAR(run->ttft(1, kTwo[1]), 0.128, 1e-9);
  EXPECT_EQ(run->step_count, 6);
  EXPECT_NEAR(run->busy, 0.176, 1e-9);
  const Latencies l = Latencies::of(kTwo, *run);
  expect_times(l.itl, {0.011, 0.011, 0.012, 0.012, 0.061, 0.061});
  EXPECT_NEAR(percentile(l.itl, 50), 0.012, 1e-9);
  EXPECT_NEAR(percentile(l.itl, 100), 0.061, 1e-9);
  ASSERT_EQ(run->steps.size(), 6u);
  EXPECT_EQ(run->steps[2].slices.size(), 2u);
  EXPECT_EQ(run->steps[2].slices[1].count, 500);
}

TEST(Scheduling, HandWorkedWithoutChunks) {
  // B's prompt is a step of its own (110 ms), in which A waits.
  const Result<SimRun> run = run_schedule(kTwo, options(false, 0), 100, kSimple, false);
  ASSERT_TRUE(run);
  expect_times(run->tokens[0], {0.020, 0.031, 0.153, 0.164, 0.175, 0.186});
  expect_times(run->tokens[1], {0.141, 0.153});
  EXPECT_TRUE(run->steps.empty());
}

TEST(Scheduling, ATargetBoundsTheGaps) {
  const std::vector<SimRequest> requests = {{0, 64, 400}, {0, 64, 400}, {0.5, 4096, 4}};
  double before = 1;
  for (const double target : {0.2, 0.1, 0.05}) {
    const Result<SimRun> run = run_schedule(requests, options(true, 0, target), 1000, StepCost(), false);
    ASSERT_TRUE(run);
    const double worst = percentile(Latencies::of(requests, *run).itl, 100);
    EXPECT_LT(worst, target * 1.15);
    EXPECT_LT(worst, before);
    before = worst;
  }
}

// Too little memory for all at once: some wait or are preempted, and all end.
TEST(Scheduling, EveryRequestEnds) {
  const std::vector<SimRequest> requests = arrivals({2.0, 60, 300, 100, 3});
  EXPECT_NEAR(static_cast<double>(requests.size()), 120, 40);
  const Result<SimRun> run = run_schedule(requests, options(true, 0), 40, StepCost(), false);
  ASSERT_TRUE(run);
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(std::ssize(run->tokens[i]), requests[i].output);
  const Result<SimRun> again = run_schedule(requests, options(true, 0), 40, StepCost(), false);
  EXPECT_EQ(run->tokens, again->tokens);
}

TEST(Scheduling, RefusesWhatNeverRuns) {
  EXPECT_FALSE(run_schedule(std::vector<SimRequest>{{0, 100, 0}}, options(true, 0), 100, kSimple, false));
  EXPECT_FALSE(run_schedule(std::vector<SimRequest>{{0, 3200, 1}}, options(true, 0), 100, kSimple, false));
  EXPECT_FALSE(run_schedule(std::vector<SimRequest>{{2, 1, 1}, {1, 1, 1}}, options(true, 0), 100, kSimple, false));
  EXPECT_TRUE(run_schedule(std::vector<SimRequest>{}, options(true, 0), 100, kSimple, false));
}

TEST(Scheduling, CostsOfAFittedModel) {
  const StepCost cost{0.002, 0.001, 0.0003, 0.0002, 0.0007, 0.0004};
  sched::CostModel model;
  for (int i = 0; i < 400; ++i) {
    sched::StepShape shape;
    for (int k = 0; k < i % 5; ++k) shape.add_decode(i * 700 % 3000);
    if (i % 3 > 0) shape.add_prefill(i * 300 % 2000, 1 + i * 37 % 500);
    if (shape.rows() > 0) model.observe(shape, cost(shape));
  }
  const StepCost found = StepCost::of(model);
  for (const sched::StepShape& s : {sched::StepShape{100, 5e4, 0, 0, 0}, {0, 0, 4, 0, 8000}, {300, 3e5, 3, 0, 500}}) {
    EXPECT_NEAR(found(s), model.predict(s), 1e-9);
    EXPECT_NEAR(found(s) / cost(s), 1, 0.05);
  }
}

TEST(Timeline, OneRowPerRequest) {
  const Result<SimRun> run = run_schedule(kTwo, options(false, 0), 100, kSimple, true);
  ASSERT_TRUE(run);
  // 186 ms in 31 columns of 6 ms; tokens at 20, 31, 153, 164, 175, 186 and at 141, 153.
  EXPECT_EQ(timeline_text(kTwo, *run, 31),
            "  1 |▒▒▒█.█...................█.█.██|\n"
            "  2 |    .▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒█.█     |\n");
  const std::vector<std::pair<std::string, const SimRun*>> runs = {{"a <b>", &*run}};
  const std::string svg = timeline_svg(kTwo, runs);
  EXPECT_NE(svg.find("a &lt;b&gt;"), std::string::npos);
  size_t boxes = 0;
  for (size_t at = 0; (at = svg.find("<rect class", at)) != std::string::npos; ++at) ++boxes;
  EXPECT_EQ(boxes, 8u);  // two prompts, five decodes of A, one of B
}

}  // namespace
}  // namespace toccata::sim
