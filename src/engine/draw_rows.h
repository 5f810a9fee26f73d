// Draws of a step's rows, on the runner's threads where there is enough to do.
#pragma once

#include <cstdint>
#include <vector>

#include "base/thread_pool.h"
#include "sampling/sampler.h"

namespace toccata::engine {

// Calls draw(row, scratch) for each of `rows` rows of `vocab` logits. scratch: one for each thread, one without
// threads.
template <typename Draw>
void draw_rows(ThreadPool* threads, int64_t rows, int64_t vocab, std::vector<SamplerScratch>& scratch, Draw draw) {
  constexpr int64_t kWorthThreads = 1 << 14;  // logits from which waking the threads pays
  if (!threads || rows < 2 || rows * vocab < kWorthThreads) {
    for (int64_t i = 0; i < rows; ++i) draw(i, scratch.front());
    return;
  }
  threads->run([&](Team& team) {
    team.parallel_for(rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) draw(i, scratch[static_cast<size_t>(team.rank())]);
    });
  });
}

}  // namespace toccata::engine
