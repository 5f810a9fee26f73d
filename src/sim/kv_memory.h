// What a sequence's KV cache takes while the text grows: the plans of the policies and the layout of the pool, without
// a model's weights.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kv/policy.h"
#include "kv/pool.h"
#include "toccata/result.h"

namespace toccata::sim {

// After `tokens` tokens.
struct KvPoint {
  int64_t tokens = 0;
  int64_t kept = 0;    // that the next query may see
  int64_t blocks = 0;  // of 32 tokens, in the block table
  uint64_t bytes = 0;  // of these blocks in the pool, and of what the policy remembers about tokens
};

struct KvCurve {
  std::string policy, type;
  uint64_t block_bytes = 0;     // in all layers
  uint64_t state_bytes = 0;     // of a policy by rank, from the first token on
  std::vector<KvPoint> points;  // at even distances, the last one after all tokens
};

// points: at most that many, at least 1. Errors: kInvalidArgument (the rule's numbers), kResourceExhausted.
Result<KvCurve> kv_memory(const KvPolicy& rule, const std::string& type, const kv::Layout& layout,
                          const kv::ModelShape& shape, int64_t tokens, int64_t points);

// A line of eight heights per curve, all on one scale, for a terminal; then a table of the last points.
std::string kv_memory_text(std::span<const KvCurve> curves);
// The curves in one picture. A document of its own.
std::string kv_memory_svg(std::span<const KvCurve> curves);

}  // namespace toccata::sim
