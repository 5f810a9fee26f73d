// Attention of one layer over a ragged batch of spans, inside a parallel region. Two ways with one interface:
// flash (tiled, bounded scratch; kernels/attn.h gives its arithmetic) and naive (materialises S and P).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/thread_pool.h"
#include "kernels/dispatch.h"
#include "kv/policy.h"
#include "kv/pool.h"
#include "kv/ranked.h"

namespace toccata::attention {

// Consecutive tokens of one sequence; rows row_begin .. row_begin + tokens - 1 of the step's activations.
struct Span {
  const kv::BlockId* blocks = nullptr;  // block table: token position p lives in block(p / 32), slot p % 32
  int64_t first_pos = 0;
  int32_t tokens = 0;
  int32_t row_begin = 0;
  const kv::CachePlan* plan = nullptr;  // null or one that does not evict: everything stays
  kv::RankedState* state = nullptr;     // of plans by rank
  // Set by the attention itself for the pieces that it cuts spans into (attention/pieces.h).
  int64_t window = 0;  // > 0: keys of this span are seen as with Args::window
  int64_t sinks = 0;   // so many keys more are seen by each query: by rank the kept ones, else the first of the text,
                       // which are seen through q_sink and stand before the window
  const kv::BlockId* kept = nullptr;  // by rank: the block table of the kept keys; `blocks` is that of the piece
  int64_t slot = 0;                   // by rank: of the piece's first block in the state
  bool scored = false;                // by rank: attention is added up

  bool evicts() const { return plan && plan->evicts(); }
  kv::BlockId sink_block(int64_t index) const { return kept ? kept[index] : block(index); }
  kv::BlockId block(int64_t index) const { return blocks[plan ? plan->entry(index) : index]; }
};

struct Args {
  const kv::Pool* pool = nullptr;
  int layer = 0;
  int heads = 0;  // query heads, a multiple of the layout's kv_heads
  float scale = 1.0f;
  int64_t window = 0;  // > 0: query at p sees keys j with p - window < j <= p; 0: all j <= p
  std::span<const Span> spans;
  const float* q = nullptr;  // [rows][heads * head_dim], rows q_stride floats apart
  const float* k = nullptr;  // [rows][kv_heads * head_dim], written to the cache first, and read back from it
  const float* v = nullptr;
  size_t q_stride = 0, k_stride = 0, v_stride = 0;
  const float* q_sink = nullptr;  // as q, rotated to the position that a query has for the sinks; rows of spans that
  size_t q_sink_stride = 0;       // evict, behind their budget
  float* out = nullptr;           // [rows][heads * head_dim]
  size_t out_stride = 0;
};

enum class Method : uint8_t { kFlash, kNaive };

// Owns the scratch memory. A naive one takes no span that evicts. Every thread of the team calls run() with the same
// arguments; on return the output is complete and visible to all. flash scratch depends on the threads, heads and head
// size only.
class Attention {
 public:
  virtual ~Attention() = default;
  virtual void run(Team& team, const Args& args) = 0;
  virtual size_t scratch_bytes() const = 0;
};

std::unique_ptr<Attention> make_attention(Method method, const kernels::KernelSet& kernels, const kv::Layout& layout,
                                          int heads, int threads);

}  // namespace toccata::attention
