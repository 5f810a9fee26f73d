// What a phase of the forward step costs before it does any work.
#include <benchmark/benchmark.h>

#include "base/cpu_features.h"
#include "base/thread_pool.h"

namespace toccata {
namespace {

constexpr int kPhases = 1000;

void barrier(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    pool.run([](Team& team) {
      for (int i = 0; i < kPhases; ++i) team.barrier();
    });
  }
  state.SetItemsProcessed(state.iterations() * kPhases);
}

void parallel_for(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    pool.run([](Team& team) {
      for (int i = 0; i < kPhases; ++i) team.parallel_for(8, 1, [](int64_t, int64_t) {});
    });
  }
  state.SetItemsProcessed(state.iterations() * kPhases);
}

void region(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  for (auto _ : state) pool.run([](Team&) {});
}

void sizes(benchmark::internal::Benchmark* b) {
  for (int threads = 1; threads <= cpu_features().logical_cpus; threads *= 2) b->Arg(threads);
  b->UseRealTime();
}

BENCHMARK(barrier)->Apply(sizes);
BENCHMARK(parallel_for)->Apply(sizes);
BENCHMARK(region)->Apply(sizes);

}  // namespace
}  // namespace toccata
