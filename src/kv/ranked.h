// Eviction by rank: what a sequence remembers of its tokens' attention, and the eviction itself.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "kv/policy.h"
#include "kv/pool.h"

namespace toccata::kv {

// For each layer and KV head: the attention that the token in each slot got, and the position of each kept token. Slots
// count through the entries of the block table; while nothing is evicted, slot = position, and later the kept tokens
// have slots [0, budget - 1) and those of the present piece the slots from kept_blocks * 32 on.
class RankedState {
 public:
  // Errors: kResourceExhausted.
  static Result<RankedState> create(const CachePlan& plan, int layers, int kv_heads);

  void clear();  // as for a new sequence
  int64_t slots() const { return slots_; }
  size_t bytes() const { return attention_.size() + positions_.size(); }
  // 64-byte aligned; any number of threads may work on different heads.
  float* attention(int layer, int kv_head) const { return attention_.as<float>() + at(layer, kv_head) * slots_; }
  int32_t* positions(int layer, int kv_head) const { return positions_.as<int32_t>() + at(layer, kv_head) * slots_; }

 private:
  int64_t at(int layer, int kv_head) const { return int64_t{layer} * kv_heads_ + kv_head; }
  AlignedBuffer attention_, positions_;
  int64_t slots_ = 0;
  int kv_heads_ = 0;
};

// Memory of one thread.
struct EvictionScratch {
  std::vector<Policy::Token> tokens;
  std::vector<int32_t> slots;          // of the tokens that may go, by position
  std::vector<int32_t> holes, movers;  // slots
};

// Before the tokens from position `at` (a multiple of the interval, at least plan.dense) are written: keeps budget - 1
// tokens of one layer and KV head and moves them to the first slots. blocks: the sequence's block table.
void evict(const CachePlan& plan, const RankedState& state, const Pool& pool, int layer, int kv_head,
           const BlockId* blocks, int64_t at, EvictionScratch& scratch);

// Positions that a layer and KV head without a sliding window still has after `tokens` tokens, ascending: those that
// the last query saw. state: of a plan by rank, else ignored.
std::vector<int32_t> held_positions(const CachePlan& plan, const RankedState* state, int layer, int kv_head,
                                    int64_t tokens);

// K and V of one token, as they are, from one slot of a block to one of another. layout: of the layer. k_from, k_to:
// the K runs of one head.
void move_token(const Layout& layout, const std::byte* k_from, int from, std::byte* k_to, int to);

}  // namespace toccata::kv
