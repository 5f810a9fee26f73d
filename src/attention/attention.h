// Attention of one layer over a ragged batch of spans, inside a parallel region. Two ways with one interface:
// flash (tiled, bounded scratch; kernels/attn.h gives its arithmetic) and naive (materialises S and P).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/thread_pool.h"
#include "kernels/dispatch.h"
#include "kv/pool.h"

namespace toccata::attention {

// Consecutive tokens of one sequence; rows row_begin .. row_begin + tokens - 1 of the step's activations.
struct Span {
  const kv::BlockId* blocks = nullptr;  // block table: token position p lives in blocks[p / 32], slot p % 32
  int64_t first_pos = 0;
  int32_t tokens = 0;
  int32_t row_begin = 0;
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
  float* out = nullptr;  // [rows][heads * head_dim]
  size_t out_stride = 0;
};

enum class Method : uint8_t { kFlash, kNaive };

// Owns the scratch memory. Every thread of the team calls run() with the same arguments; on return the output is
// complete and visible to all. flash scratch depends on the threads, heads and head size only.
class Attention {
 public:
  virtual ~Attention() = default;
  virtual void run(Team& team, const Args& args) = 0;
  virtual size_t scratch_bytes() const = 0;
};

std::unique_ptr<Attention> make_attention(Method method, const kernels::KernelSet& kernels, const kv::Layout& layout,
                                          int heads, int threads);

}  // namespace toccata::attention
