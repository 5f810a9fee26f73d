// The attention kernels on 16 lanes; kernels/generic/attn.cc is the reference.
#pragma once

#include "kernels/x86/attn_tile.h"
#include "kernels/x86/attn_view.h"

namespace toccata::kernels {
namespace {

// The scratch of a call (attn_scratch_bytes).
struct AttnScratch {
  float* s;       // [rows][64]
  float* ones;    // [kAttnRows]
  float* factor;  // [kAttnRows]
  float* floats;  // a block of K [head_dim][32] or a tile of V [64][head_dim], dequantised
  float* scales;  // [64][groups]
  AttnScratch(std::byte* base, int head_dim) {
    s = reinterpret_cast<float*>(base);
    ones = s + kAttnTile * kAttnRows;
    factor = ones + kAttnRows;
    floats = factor + kAttnRows;
    scales = floats + kAttnTile * attn_o_stride(head_dim);
    for (int i = 0; i < kAttnRows; ++i) ones[i] = 1.0f;
  }
};

constexpr int element_bytes(DType type) { return type == DType::kF32 ? 4 : 2; }

// What a product with K fetches of V of the same block, per channel and panel of 16 keys: all of it in the end.
TOCCATA_INLINE int fetch_step(const AttnTile& tile) {
  return (kv_v_bytes(tile.v_type, tile.head_dim) / 2 + tile.head_dim - 1) / tile.head_dim;
}

// K of a block as plain floats of type T. A source of keys has open(), K as scores() takes it, and scores().
template <class L, DType T>
struct KeyBlock {
  TOCCATA_INLINE const std::byte* open(const AttnTile&, const std::byte* k) const { return k; }

  // Scores of rows [begin, end) and the panels [p, last) of 16 keys, all within the block k. Fetches V of the block
  // (null: nothing) at the pace at which it goes through K.
  static TOCCATA_NOINLINE void scores(const AttnTile& tile, int begin, int end, int p, int last, const std::byte* k,
                                      const std::byte* v, float* s, size_t stride) {
    if (p >= last) return;
    const size_t dim = static_cast<size_t>(tile.head_dim), row = static_cast<size_t>(begin);
    const int rows = end - begin, pace = v ? fetch_step(tile) : 0;
    if (!v) v = k;
    while (p < last) {
      const Steps steps{k + p % 2 * 16 * element_bytes(T), tile.head_dim};
      const bool wide = p + 2 <= last && rows <= L::kWideRows;
      const Rows m{tile.q + row * dim,
                   dim,
                   s + row * stride + 16 * p,
                   stride,
                   nullptr,
                   {v + p % 2 * tile.head_dim * pace, wide ? 2 * pace : pace}};
      if (wide) {
        Product<L, T, 2, false>::template run<1>(rows, m, &steps, kKvBlock);
        p += 2;
      } else {
        Product<L, T, 1, false>::template run<1>(rows, m, &steps, kKvBlock);
        p += 1;
      }
    }
  }
};

// What a product with V fetches of the next tile's K, as it goes through the channels.
struct NextKeys {
  const std::byte* const* blocks;  // two; null: nothing
  int block_bytes, channel_bytes;  // of K of a block; of both blocks per channel
  NextKeys(const AttnTile& tile, const std::byte* const* next) : blocks(next) {
    block_bytes = kv_k_bytes(tile.k_type, tile.head_dim);
    channel_bytes = (2 * block_bytes + tile.head_dim - 1) / tile.head_dim;
  }
  // From channel d on, while `channels` of them are worked on for all keys.
  TOCCATA_INLINE void aim(int d, int channels, Ahead& ahead) const {
    const int at = d * channel_bytes;
    if (blocks && at < 2 * block_bytes) {
      ahead = {blocks[at / block_bytes] + at % block_bytes, channels * channel_bytes / kAttnTile};
    }
  }
};

// V of a tile as plain floats of type T. A source of values has open(), which gives V of the two blocks as accumulate()
// takes it, and accumulate().
template <class L, DType T>
struct ValueBlock {
  TOCCATA_INLINE void open(const AttnTile& tile, const View&, const std::byte* const* blocks,
                           const std::byte** v) const {
    for (int i = 0; i < 2; ++i) v[i] = blocks[i] ? blocks[i] + tile.v_offset : nullptr;
  }

  // O[row] = O[row] scale[row], then the chain over keys [from, to) of the tile, for rows [begin, end). Fetches K of
  // the two blocks `next` (null: nothing) at the pace of a whole tile.
  static TOCCATA_NOINLINE void accumulate(const AttnTile& tile, int begin, int end, int from, int to,
                                          const std::byte* const* v, const std::byte* const* next, const float* p,
                                          size_t stride, const float* scale, float* o) {
    const int dim = tile.head_dim, rows = end - begin;
    const size_t o_stride = static_cast<size_t>(attn_o_stride(dim)), row = static_cast<size_t>(begin);
    const int split = from >= kKvBlock ? from : to < kKvBlock ? to : kKvBlock;  // keys [from, split) in the first block
    const auto key = [&](int j) { return v[j / kKvBlock] + j % kKvBlock * dim * element_bytes(T); };
    Steps parts[2] = {{key(from), split - from}, {key(split < to ? split : from), to - split}};
    Rows m{p + row * stride + from, stride, o + row * o_stride, o_stride, scale + begin, {parts[0].base, 0}};
    const NextKeys keys(tile, next);
    int d = 0;
    const auto advance = [&](int channels) {
      d += channels;
      m.c += channels;
      for (Steps& part : parts) part.base += channels * element_bytes(T);
    };
    while (rows <= L::kWideRows && d + 32 <= dim) {
      keys.aim(d, 32, m.ahead);
      Product<L, T, 2, true>::template run<2>(rows, m, parts, dim);
      advance(32);
    }
    while (d + 16 <= dim) {
      keys.aim(d, 16, m.ahead);
      Product<L, T, 1, true>::template run<2>(rows, m, parts, dim);
      advance(16);
    }
    if (d < dim) Product<L, T, 1, true, true>::template run<2>(rows, m, parts, dim);
  }
};

// Calls f(KeyBlock or ValueBlock of the type), for plain floats.
template <class L, template <class, DType> class Block, class F>
TOCCATA_INLINE void with_floats(DType type, F f) {
  if (type == DType::kF16) {
    f(Block<L, DType::kF16>());
  } else if (type == DType::kBF16) {
    f(Block<L, DType::kBF16>());
  } else {
    f(Block<L, DType::kF32>());
  }
}

}  // namespace
}  // namespace toccata::kernels
