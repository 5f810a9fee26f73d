// `toccata plan`: what fits, and how fast it can be at best. Arithmetic on sizes alone; nothing is loaded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench_limits.h"
#include "kv/cache_types.h"
#include "model/config.h"

namespace toccata::cli {

// What a step reads and multiplies, from the file.
struct WeightFacts {
  double bytes = 0;        // of all matrices that every step reads: without an embedding that is no output layer
  double body = 0;         // multiplied parameters per token, without the output layer
  double output = 0;       // of the output layer
  double float_share = 0;  // part of both that is stored as plain floats, whose products are f32
};
WeightFacts weight_facts(const gguf::File& file, const model::ModelConfig& config);

struct PlanQuestion {
  kv::CacheType k, v;
  std::vector<int> f16_layers;  // --kv-skip-layers, ascending and within the model
  uint64_t memory = 0;          // of the KV cache, bytes
  int64_t context = 0;          // tokens of each sequence
};

// One way to keep K and V. `held`: tokens that a sequence of `context` tokens has in the cache.
struct PlanRow {
  kv::CacheType k, v;
  uint64_t bytes_per_token = 0;  // 2 x layers x KV heads x head size x bytes of an element, in the pool
  int64_t blocks = 0;            // of 32 tokens, that the memory holds
  int64_t held = 0;
  int64_t sequences = 0;    // of `context` tokens at once
  double read_bytes = 0;    // of the cache, by a token at the context's end; sliding windows read less
  double decode = 0;        // tokens/s at most, one sequence at the context's end
  double batch_decode = 0;  // of all `sequences` together; 0 if none fits

  int64_t tokens() const { return blocks * kernels::kKvBlock; }
};
PlanRow plan_row(const model::ModelConfig& config, const WeightFacts& weights, const MachineLimits& limits,
                 const PlanQuestion& question);

// Prompt tokens/s at most, for a prompt of `context` tokens read in chunks of `chunk`.
double prefill_limit(const model::ModelConfig& config, const WeightFacts& weights, const MachineLimits& limits,
                     const PlanQuestion& question, int64_t chunk);

}  // namespace toccata::cli
