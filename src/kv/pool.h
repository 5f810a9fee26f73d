// The KV cache: a pool of fixed-size blocks (32 tokens) that sequences refer to through block tables.
//
// Blocks are reference-counted: a block that several sequences share (kv/prefix_cache.h) is freed by the last release.
//
// One block id stands for 32 tokens in every layer. Storage is per layer: block major, then KV head, then
// K followed by V, so one head of one block is one contiguous run (kernels/kv_layout.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/attn.h"
#include "tensor/dtype.h"
#include "toccata/result.h"

namespace toccata::kv {

using BlockId = int32_t;

struct Layout {
  int layers = 0;
  int kv_heads = 0;
  int head_dim = 0;            // of K and of V
  DType k_type = DType::kF16;  // kF32, kF16, kBF16, kQ8_0 or kQ4_0
  DType v_type = DType::kF16;

  std::vector<int> f16_layers = {};  // ascending; these are f16 in both, whatever the types

  Layout of(int layer) const;  // this layer alone, with its own types
  bool operator==(const Layout&) const = default;

  // Without f16_layers: of one head in one block.
  size_t k_bytes() const;
  size_t v_bytes() const;
  size_t head_bytes() const { return k_bytes() + v_bytes(); }
  size_t block_bytes() const;       // of one block in one layer
  size_t bytes_per_token() const;   // over all layers
  size_t pool_block_bytes() const;  // of one block in the pool: over all layers, and what keeps blocks apart
};

class Pool {
 public:
  // Errors: kInvalidArgument (an unsupported type or size), kResourceExhausted. Memory is reserved at once and
  // becomes resident as blocks are first written.
  static Result<Pool> create(const Layout& layout, int64_t blocks);

  const Layout& layout() const { return layout_; }
  const Layout& layout(int layer) const { return layers_[static_cast<size_t>(layer)].layout; }
  int64_t capacity() const { return capacity_; }
  int64_t free_blocks() const { return static_cast<int64_t>(free_.size()); }

  Result<BlockId> allocate();  // with one reference; kResourceExhausted when none is free
  void retain(BlockId block) { ++reference(block); }
  void release(BlockId block);  // drops one reference; without any the block is free again
  int32_t references(BlockId block) const { return references_[static_cast<size_t>(block)]; }
  void copy(BlockId from, BlockId to);  // the contents, in all layers: copy-on-write

  std::byte* head(int layer, BlockId block, int kv_head) const {
    const Layer& l = layers_[static_cast<size_t>(layer)];
    return memory_.data() + static_cast<size_t>(block) * stride_ + l.offset +
           static_cast<size_t>(kv_head) * l.head_bytes;
  }

 private:
  struct Layer {
    Layout layout;
    size_t offset = 0, head_bytes = 0;  // within a block; of a head
  };
  Layout layout_;
  int64_t capacity_ = 0;
  size_t stride_ = 0;
  // A block lies together with all its layers: a growing cache enters one huge page after the other, not one of each
  // layer in the same step (30 x 2 MiB to clear took SmolLM2 a pause of 200 ms).
  AlignedBuffer memory_;
  std::vector<Layer> layers_;
  std::vector<BlockId> free_;
  int32_t& reference(BlockId block);  // aborts unless the block is in use

  std::vector<int32_t> references_;  // by block; 0: free
};

}  // namespace toccata::kv
