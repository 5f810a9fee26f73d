// The draw of one token from a vocabulary of Gemma's size, beside a plain sort of the vocabulary.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "base/rng.h"
#include "sampling/sampler.h"

namespace toccata {
namespace {

constexpr int32_t kVocab = 262144;

// Roughly a model's row: most logits far below a few good ones.
std::vector<float> logits_row() {
  std::vector<float> row(kVocab);
  for (uint32_t i = 0; i < row.size(); ++i) {
    const double u = rng::uniform(1, i, rng::Purpose::kTest);
    row[i] = static_cast<float>(-12.0 + 6.0 * u + (u > 0.9999 ? 14.0 * (u - 0.9999) * 10000.0 : 0.0));
  }
  return row;
}

void sample(benchmark::State& state, SamplingParams params) {
  const std::vector<float> row = logits_row();
  Sampler sampler(params, kVocab);
  int64_t position = 0;
  for (auto _ : state) benchmark::DoNotOptimize(sampler.sample(row, {}, position++));
}

SamplingParams no_rules() {
  SamplingParams params;
  params.top_k = 0;
  params.top_p = 1.0f;
  params.min_p = 0.0f;
  return params;
}

SamplingParams top_p_only() {
  SamplingParams params = no_rules();
  params.top_p = 0.95f;
  return params;
}

SamplingParams greedy() {
  SamplingParams params;
  params.temperature = 0.0f;
  return params;
}

void sort_vocabulary(benchmark::State& state) {
  const std::vector<float> row = logits_row();
  std::vector<Candidate> all(row.size());
  for (auto _ : state) {
    for (size_t i = 0; i < row.size(); ++i) all[i] = {row[i], static_cast<int32_t>(i), 0.0};
    std::sort(all.begin(), all.end(), ranks_before);
    benchmark::DoNotOptimize(all.data());
  }
}

BENCHMARK_CAPTURE(sample, greedy, greedy());
BENCHMARK_CAPTURE(sample, defaults, SamplingParams());
BENCHMARK_CAPTURE(sample, top_p, top_p_only());
BENCHMARK_CAPTURE(sample, unrestricted, no_rules());
BENCHMARK(sort_vocabulary);

}  // namespace
}  // namespace toccata
