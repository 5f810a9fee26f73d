// The draw of one token from vocabularies of SmolLM2's and Gemma's size, beside a plain sort of the vocabulary.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "base/rng.h"
#include "sampling/sampler.h"

namespace toccata {
namespace {

// Roughly a model's row: most logits far below a few good ones.
std::vector<float> logits_row(int64_t vocab) {
  std::vector<float> row(static_cast<size_t>(vocab));
  for (uint32_t i = 0; i < row.size(); ++i) {
    const double u = rng::uniform(1, i, rng::Purpose::kTest);
    row[i] = static_cast<float>(-12.0 + 6.0 * u + (u > 0.9999 ? 14.0 * (u - 0.9999) * 10000.0 : 0.0));
  }
  return row;
}

void sample(benchmark::State& state, SamplingParams params) {
  const std::vector<float> row = logits_row(state.range(0));
  const Sampler sampler(params, static_cast<int32_t>(row.size()));
  SamplerScratch scratch;
  int64_t position = 0;
  for (auto _ : state) benchmark::DoNotOptimize(sampler.sample(row, {}, position++, scratch));
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

SamplingParams hot_top_p() {
  SamplingParams params = top_p_only();
  params.temperature = 5.0f;
  return params;
}

SamplingParams with_logprobs() {
  SamplingParams params = no_rules();
  params.logprobs = 5;
  return params;
}

SamplingParams greedy() {
  SamplingParams params;
  params.temperature = 0.0f;
  return params;
}

void sort_vocabulary(benchmark::State& state) {
  const std::vector<float> row = logits_row(state.range(0));
  std::vector<Candidate> all(row.size());
  for (auto _ : state) {
    for (size_t i = 0; i < row.size(); ++i) all[i] = {row[i], static_cast<int32_t>(i), 0.0, 0.0};
    std::sort(all.begin(), all.end(), ranks_before);
    benchmark::DoNotOptimize(all.data());
  }
}

void sizes(benchmark::internal::Benchmark* b) { b->Arg(49152)->Arg(262144); }

BENCHMARK_CAPTURE(sample, greedy, greedy())->Apply(sizes);
BENCHMARK_CAPTURE(sample, defaults, SamplingParams())->Apply(sizes);
BENCHMARK_CAPTURE(sample, top_p, top_p_only())->Apply(sizes);
BENCHMARK_CAPTURE(sample, top_p_flat, hot_top_p())->Apply(sizes);
BENCHMARK_CAPTURE(sample, unrestricted, no_rules())->Apply(sizes);
BENCHMARK_CAPTURE(sample, logprobs, with_logprobs())->Apply(sizes);
BENCHMARK(sort_vocabulary)->Apply(sizes);

}  // namespace
}  // namespace toccata
