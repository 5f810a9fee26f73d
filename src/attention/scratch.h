// The memory of the flash method: all of it is taken once, and its size does not depend on any length.
#pragma once

#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/attn.h"
#include "toccata/result.h"

namespace toccata::attention {

// What one thread needs to work on an item.
struct ThreadScratch {
  float* q = nullptr;           // [kAttnRows][head_dim]
  kernels::AttnState running;   // merged splits
  kernels::AttnState split;     // the present split
  std::byte* kernel = nullptr;  // kernels::attn_scratch_bytes(head_dim)
};

class FlashScratch {
 public:
  static Result<FlashScratch> create(int head_dim, int threads);

  const ThreadScratch& thread(int rank) const { return threads_[static_cast<size_t>(rank)]; }
  size_t bytes() const { return buffer_.size(); }

  // States of split units that wait for their merge: `slot_rows` rows, shared by all threads.
  int slot_rows() const { return slot_rows_; }
  kernels::AttnState slot(int row) const { return offset(slots_, row); }
  // States of an item that goes on in the next wave; waves take turns.
  const kernels::AttnState& carry(int wave) const { return carry_[wave & 1]; }

  // The state of the rows from `row` on.
  kernels::AttnState offset(const kernels::AttnState& state, int row) const {
    return {state.m + row, state.l + row, state.o + static_cast<size_t>(row) * static_cast<size_t>(o_stride_)};
  }
  int o_stride() const { return o_stride_; }
  // What splits leave until their queries' weights are known (attention/flash_scored.cc), shared by all threads.
  // Untouched, and so no memory, without a policy by rank.
  float* weights() const { return weights_; }
  size_t weight_floats() const { return weight_floats_; }

 private:
  AlignedBuffer buffer_;
  int o_stride_ = 0;
  int slot_rows_ = 0;
  std::vector<ThreadScratch> threads_;
  float* weights_ = nullptr;
  size_t weight_floats_ = 0;
  kernels::AttnState slots_;
  kernels::AttnState carry_[2];
};

}  // namespace toccata::attention
