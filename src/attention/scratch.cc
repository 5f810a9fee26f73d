#include "attention/scratch.h"

#include <algorithm>

namespace toccata::attention {
namespace {

// One query token of a group of 8 heads of size 512 and kv::CachePlan's longest budgets: 2^15 keys are 64 splits of
// (512 + 512 + 10) * 8 floats and change, 2.2 MB. Eight times that, for tiles of some tokens and several KV heads.
constexpr size_t kWeightFloats = size_t{1} << 22;

// Hands out consecutive runs of cache lines, first to measure (base null) and then to place.
class Arena {
 public:
  explicit Arena(std::byte* base) : base_(base) {}
  std::byte* take(size_t bytes) {
    std::byte* p = base_ ? base_ + used_ : nullptr;
    used_ += (bytes + 63) / 64 * 64;
    return p;
  }
  float* floats(size_t count) { return reinterpret_cast<float*>(take(count * sizeof(float))); }
  kernels::AttnState state(int rows, int o_stride) {
    const size_t n = static_cast<size_t>(rows);
    float* m = floats(n);
    float* l = floats(n);
    return {m, l, floats(n * static_cast<size_t>(o_stride))};
  }
  // Threads must not share pages, so that each part is placed by its first touch.
  void next_page() { used_ = (used_ + 4095) / 4096 * 4096; }
  size_t used() const { return used_; }

 private:
  std::byte* base_;
  size_t used_ = 0;
};

}  // namespace

Result<FlashScratch> FlashScratch::create(int head_dim, int threads) {
  FlashScratch s;
  s.o_stride_ = kernels::attn_o_stride(head_dim);
  // Four units per thread of full tiles; a decode's unit has a few rows only, so that a wave holds dozens of them.
  s.slot_rows_ = 4 * std::max(threads, 2) * kernels::kAttnRows;
  s.weight_floats_ = kWeightFloats;
  s.threads_.resize(static_cast<size_t>(threads));
  const auto place = [&](std::byte* base) {
    Arena arena(base);
    for (ThreadScratch& t : s.threads_) {
      t.q = arena.floats(static_cast<size_t>(kernels::kAttnRows) * static_cast<size_t>(head_dim));
      t.running = arena.state(kernels::kAttnRows, s.o_stride_);
      t.split = arena.state(kernels::kAttnRows, s.o_stride_);
      t.kernel = arena.take(kernels::attn_scratch_bytes(head_dim));
      arena.next_page();
    }
    s.slots_ = arena.state(s.slot_rows_, s.o_stride_);
    s.weights_ = arena.floats(s.weight_floats_);
    for (kernels::AttnState& c : s.carry_) c = arena.state(kernels::kAttnRows, s.o_stride_);
    return arena.used();
  };
  Result<AlignedBuffer> buffer = AlignedBuffer::allocate(place(nullptr));
  if (!buffer) return tl::unexpected(buffer.error());
  s.buffer_ = std::move(*buffer);
  place(s.buffer_.data());
  return s;
}

}  // namespace toccata::attention
