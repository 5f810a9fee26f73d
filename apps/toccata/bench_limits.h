// What this machine can do at best, and what that means for a model.
#pragma once

#include <cstdint>
#include <string_view>

#include "loaded_model.h"
#include "toccata/result.h"

namespace toccata::cli {

struct MachineLimits {
  double read_bytes = 0.0;  // per second, all threads, from memory in huge pages where the system gives them
  double int8_ops = 0.0;    // per second, all threads; a multiplication and an addition are two
  double f32_ops = 0.0;
};

// Measures with the kernels of `isa` on `threads` threads; takes about a second. The buffer is four times the last
// cache level (128 MiB to 1 GiB). Error: kResourceExhausted.
Result<MachineLimits> measure_limits(int threads, std::string_view isa);

// One step as arithmetic sees it: `rows` tokens, of which `logit_rows` go through the output layer, that attend
// `keys` cached positions in all (summed over rows, per full-attention layer).
struct Work {
  double rows = 0, logit_rows = 0;
  double attended = 0;      // query-key pairs of one head, summed over layers
  double kv_positions = 0;  // cached positions that are read, summed over layers
  double weight_reads = 0;  // how often all weights are read
};

// Prefill of `tokens` after `depth` in chunks, then `generated` decode steps, for `batch` sequences side by side.
Work work_of(const LoadedModel& model, int64_t depth, int64_t tokens, int64_t chunk, int64_t generated, int64_t batch);

// The time below which no program with these kernels can go:
//   max((weights * weight_reads + KV) / bandwidth, 2 P_int8 / int8 peak + (2 P_f32 + 4 H d pairs) / f32 peak)
double limit_seconds(const LoadedModel& model, const MachineLimits& limits, const Work& work);

}  // namespace toccata::cli
