// The baseline: materialises S and P of a span and head as one [tokens][keys] matrix, so its memory and its traffic
// grow with the context. Same inner products as flash; softmax over whole rows in one pass after the scores.
//
//   m = max over the row, p_j = exp2(fma(s_j, c, -(m c))), l = sum of p in 16 lanes (lane = key modulo 16, ascending),
//   O[d] = chain over visible j ascending of fma(p_j, V[j][d], O[d]), output O[d] / l + 0
// A row depends on its own keys alone, so this method is chunk-invariant, too (with bits that differ from flash).
#include <algorithm>
#include <cstring>
#include <vector>

#include "attention/methods.h"
#include "attention/store.h"
#include "base/check.h"

namespace toccata::attention {
namespace {

using kernels::AttnTile;
using kernels::kAttnRows;
using kernels::kAttnTile;
using kernels::kKvBlock;

class Naive final : public Attention {
 public:
  Naive(const kernels::AttnKernels& kernels, const kv::Layout& layout, int threads)
      : kernels_(kernels), layout_(layout), scratch_(static_cast<size_t>(threads)) {}

  void run(Team& team, const Args& args) override {
    TOCCATA_CHECK(static_cast<size_t>(team.size()) <= scratch_.size() && args.scale > 0.0f);
    for (const Span& span : args.spans) TOCCATA_CHECK(!span.evicts());
    store_step(team, args, args.spans, kernels_);
    const int64_t heads = args.heads;
    team.parallel_for(static_cast<int64_t>(args.spans.size()) * heads, 1, [&](int64_t index, int64_t) {
      const Span& span = args.spans[static_cast<size_t>(index / heads)];
      if (span.tokens > 0)
        head(args, span, static_cast<int>(index % heads), scratch_[static_cast<size_t>(team.rank())]);
    });
  }

  size_t scratch_bytes() const override {
    size_t bytes = 0;
    for (const Scratch& s : scratch_) bytes += s.scores.size() + s.q.size() + s.o.size() + s.kernel.size();
    return bytes;
  }

 private:
  // Grows with the longest span; only its own thread touches it.
  struct Scratch {
    AlignedBuffer scores, q, o, kernel;
    std::vector<float> sums;
  };

  static void grow(AlignedBuffer& buffer, size_t bytes) {
    if (buffer.size() >= bytes) return;
    buffer = AlignedBuffer();
    Result<AlignedBuffer> more = AlignedBuffer::allocate(bytes);
    TOCCATA_CHECK(more.has_value());  // the price of this method
    buffer = std::move(*more);
  }

  void head(const Args& args, const Span& span, int head, Scratch& scratch) const;
  void prepare(const Args& args, const Span& span, int head, size_t stride, Scratch& scratch) const;
  AttnTile tile(const Args& args, const Span& span, int64_t first, const Scratch& scratch) const;

  const kernels::AttnKernels& kernels_;
  kv::Layout layout_;
  std::vector<Scratch> scratch_;
};

void Naive::prepare(const Args& args, const Span& span, int head, size_t stride, Scratch& scratch) const {
  const size_t tokens = static_cast<size_t>(span.tokens), dim = static_cast<size_t>(layout_.head_dim);
  const size_t o_bytes = tokens * static_cast<size_t>(kernels::attn_o_stride(layout_.head_dim)) * sizeof(float);
  grow(scratch.scores, tokens * stride * sizeof(float));
  grow(scratch.q, tokens * dim * sizeof(float));
  grow(scratch.o, o_bytes);
  grow(scratch.kernel, kernels::attn_scratch_bytes(layout_.head_dim));
  if (scratch.sums.size() < tokens) scratch.sums.resize(tokens);
  std::memset(scratch.o.data(), 0, o_bytes);
  for (size_t t = 0; t < tokens; ++t) {
    const float* source = args.q + (static_cast<size_t>(span.row_begin) + t) * args.q_stride;
    std::memcpy(scratch.q.as<float>() + t * dim, source + static_cast<size_t>(head) * dim, dim * sizeof(float));
  }
}

// Tokens [first, first + kAttnRows) of the span.
AttnTile Naive::tile(const Args& args, const Span& span, int64_t first, const Scratch& scratch) const {
  AttnTile t;
  t.q = scratch.q.as<float>() + first * layout_.head_dim;
  t.rows = static_cast<int>(std::min<int64_t>(kAttnRows, span.tokens - first));
  t.head_dim = layout_.head_dim;
  const kv::Layout& layout = args.pool->layout(args.layer);  // a layer may have types of its own
  t.k_type = layout.k_type;
  t.v_type = layout.v_type;
  t.v_offset = layout.k_bytes();
  t.first_pos = span.first_pos + first;
  t.window = args.window;
  t.c = exponent_scale(args.scale);
  return t;
}

void Naive::head(const Args& args, const Span& span, int head, Scratch& scratch) const {
  const int64_t end = span.first_pos + span.tokens;
  const int64_t begin =
      args.window > 0 ? std::max<int64_t>(0, span.first_pos - args.window + 1) / kAttnTile * kAttnTile : 0;
  const int64_t width = (end - begin + kAttnTile - 1) / kAttnTile * kAttnTile;
  const size_t stride = static_cast<size_t>(width);
  prepare(args, span, head, stride, scratch);
  float* s = scratch.scores.as<float>();
  const int o_stride = kernels::attn_o_stride(layout_.head_dim);
  const int kv_head = head / (args.heads / layout_.kv_heads);

  // One pass over all tiles of keys, for all tiles of rows.
  const auto for_tiles = [&](auto&& body) {
    for (int64_t key = begin; key < end; key += kAttnTile) {
      const std::byte* blocks[kAttnTile / kKvBlock] = {};
      for (int64_t pos = key; pos < std::min(end, key + kAttnTile); pos += kKvBlock) {
        blocks[(pos - key) / kKvBlock] = args.pool->head(args.layer, span.blocks[pos / kKvBlock], kv_head);
      }
      for (int64_t row = 0; row < span.tokens; row += kAttnRows) {
        body(tile(args, span, row, scratch), key, blocks, s + row * width + (key - begin),
             scratch.o.as<float>() + row * o_stride);
      }
    }
  };
  for_tiles([&](const AttnTile& t, int64_t key, const std::byte* const* blocks, float* scores, float*) {
    kernels_.scores(t, key, blocks, scores, stride, scratch.kernel.data());
  });
  for (int64_t row = 0; row < span.tokens; ++row) {
    scratch.sums[static_cast<size_t>(row)] = kernels_.softmax(s + row * width, width, exponent_scale(args.scale));
  }
  for_tiles([&](const AttnTile& t, int64_t key, const std::byte* const* blocks, float* p, float* o) {
    kernels_.accumulate(t, key, blocks, p, stride, o, scratch.kernel.data());
  });
  for (int64_t row = 0; row < span.tokens; ++row) {
    kernels_.finish(scratch.o.as<float>() + row * o_stride, scratch.sums[static_cast<size_t>(row)], layout_.head_dim,
                    args.out + static_cast<size_t>(span.row_begin + row) * args.out_stride +
                        static_cast<size_t>(head) * static_cast<size_t>(layout_.head_dim));
  }
}

}  // namespace

std::unique_ptr<Attention> make_naive(const kernels::AttnKernels& kernels, const kv::Layout& layout, int, int threads) {
  return std::make_unique<Naive>(kernels, layout, threads);
}

}  // namespace toccata::attention
