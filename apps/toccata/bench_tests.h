// The timed runs of `toccata bench`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench_limits.h"
#include "loaded_model.h"

namespace toccata::cli {

// Reads `prompt` tokens, then decodes `gen` tokens one step at a time, each of `batch` sequences that hold `depth`
// tokens already. rows > 0: instead, single steps of `rows` tokens that all give logits, as a verification does.
struct BenchTest {
  int64_t prompt = 0, gen = 0, depth = 0, batch = 1, rows = 0;
  std::string name() const;  // as llama-bench: "pp512", "tg128 @ d4096"
  int64_t length() const { return depth + prompt + gen + rows; }
  int64_t tokens() const;  // per repetition, all sequences
};

struct BenchResult {
  BenchTest test;
  std::vector<double> seconds;         // per repetition
  double limit_seconds = 0.0;          // per repetition
  double step_seconds = 0.0;           // rows only: the median step
  std::vector<double> speeds() const;  // tokens per second
};

double mean(const std::vector<double>& values);
double deviation(const std::vector<double>& values);  // of the sample; 0 for fewer than two

// One warm-up, then the repetitions; stops early when interrupted. Errors: what the engine says.
Result<BenchResult> run_bench_test(LoadedModel& model, const BenchTest& test, int64_t chunk, int64_t repetitions,
                                   const MachineLimits& limits);

}  // namespace toccata::cli
