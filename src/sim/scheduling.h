// The scheduler on a virtual clock: requests that arrive, a machine whose steps take what a formula says, and the very
// policy of the engine (sched/scheduler.h). A pure function of its arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sched/scheduler.h"
#include "toccata/result.h"

namespace toccata::sim {

// Seconds of a step: the terms of sched::CostModel.
struct StepCost {
  double base = 0.004;             // of any step
  double prefill = 0;              // of any step with prompt tokens
  double prefill_token = 0.00095;  // per prompt token
  double prefill_keys = 0.00012;   // per 1024 keys that prompt tokens look at
  double decode_row = 0.0009;      // per decode
  double decode_keys = 0.00025;    // per 1024 keys that decodes look at

  double operator()(const sched::StepShape& s) const {
    return base + (s.prefill_tokens > 0 ? prefill : 0.0) + prefill_token * static_cast<double>(s.prefill_tokens) +
           prefill_keys * s.prefill_keys / 1024 + decode_row * static_cast<double>(s.decodes) +
           decode_keys * s.decode_keys / 1024;
  }
  static StepCost of(const sched::CostModel& model);  // what the model has fitted
};

struct SimRequest {
  double arrival = 0;  // seconds
  int64_t prompt = 1, output = 1;
  int32_t priority = 0;
};

struct SimStep {
  double begin = 0, end = 0;
  std::vector<sched::Slice> slices;  // their ids: indexes of requests
};

struct SimRun {
  std::vector<std::vector<double>> tokens;  // by request: when each of its tokens came
  std::vector<SimStep> steps;               // if they were to be kept
  int64_t step_count = 0, preemptions = 0;
  double end = 0, busy = 0;  // seconds

  double ttft(size_t request, const SimRequest& r) const { return tokens[request].front() - r.arrival; }
};

// Arrivals ascending. Errors: kInvalidArgument (a request that can never run, or arrives before the one ahead of it).
Result<SimRun> run_schedule(std::span<const SimRequest> requests, const sched::Options& options, int64_t kv_blocks,
                            const StepCost& cost, bool keep_steps);

// Arrivals at random (Poisson), lengths uniform within half of their means.
struct Traffic {
  double per_second = 0.1, seconds = 86400;
  int64_t prompt = 512, output = 128;  // means
  uint64_t seed = 1;
};
std::vector<SimRequest> arrivals(const Traffic& traffic);

// What users saw. Seconds.
struct Latencies {
  std::vector<double> ttft, itl;  // sorted
  static Latencies of(std::span<const SimRequest> requests, const SimRun& run);
};
double deviation(std::span<const double> values);                   // 0 if there are none
double percentile(std::span<const double> sorted, double percent);  // 0 if there are none

}  // namespace toccata::sim
