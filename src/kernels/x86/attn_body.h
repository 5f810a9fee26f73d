// The attention kernels on 16 lanes; kernels/generic/attn.cc is the reference.
#pragma once

#include "kernels/x86/attn_tile.h"
#include "kernels/x86/attn_view.h"

namespace toccata::kernels {
namespace {

// The scratch of a call (kAttnScratchBytes).
struct AttnScratch {
  float* s;       // [rows][64]
  float* ones;    // [kAttnRows]
  float* factor;  // [kAttnRows]
  explicit AttnScratch(std::byte* base) {
    s = reinterpret_cast<float*>(base);
    ones = s + kAttnTile * kAttnRows;
    factor = ones + kAttnRows;
    for (int i = 0; i < kAttnRows; ++i) ones[i] = 1.0f;
  }
};

constexpr int element_bytes(DType type) { return type == DType::kF32 ? 4 : 2; }

template <class L, DType T>
struct KeyBlock {
  // Scores of rows [begin, end) and the panels [p, last) of 16 keys, all within one block. Fetches V of the block
  // (null: nothing) at the pace at which it goes through K.
  static TOCCATA_NOINLINE void scores(const AttnTile& tile, int begin, int end, int p, int last,
                                      const std::byte* const* blocks, const std::byte* v, float* s, size_t stride) {
    if (p >= last) return;
    const size_t dim = static_cast<size_t>(tile.head_dim), row = static_cast<size_t>(begin);
    const int rows = end - begin, pace = v ? 16 * element_bytes(tile.v_type) : 0;
    if (!v) v = blocks[p / 2];
    while (p < last) {
      const Steps steps{blocks[p / 2] + p % 2 * 16 * element_bytes(T), tile.head_dim};
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

template <class L, DType T>
struct ValueBlock {
  // O[row] = O[row] scale[row], then the chain over keys [from, to) of the tile, for rows [begin, end). Fetches K of
  // the two blocks `next` (null: nothing) at the pace of a whole tile.
  static TOCCATA_NOINLINE void accumulate(const AttnTile& tile, int begin, int end, int from, int to,
                                          const std::byte* const* blocks, const std::byte* const* next, const float* p,
                                          size_t stride, const float* scale, float* o) {
    const int dim = tile.head_dim, rows = end - begin;
    const size_t o_stride = static_cast<size_t>(attn_o_stride(dim)), row = static_cast<size_t>(begin);
    const int split = from >= kKvBlock ? from : to < kKvBlock ? to : kKvBlock;  // keys [from, split) in the first block
    const auto key = [&](int j) {
      return blocks[j / kKvBlock] + tile.v_offset + j % kKvBlock * dim * element_bytes(T);
    };
    Steps parts[2] = {{key(from), split - from}, {key(split < to ? split : from), to - split}};
    Rows m{p + row * stride + from, stride, o + row * o_stride, o_stride, scale + begin, {parts[0].base, 0}};

    const int k_element = element_bytes(tile.k_type), k_bytes = dim * kKvBlock * k_element;
    int d = 0;
    const auto aim = [&](int channels) {
      const int at = d * kAttnTile * k_element;  // how far into K of the next tile
      if (next) m.ahead = {next[at / k_bytes] + at % k_bytes, channels * k_element};
    };
    const auto advance = [&](int channels) {
      d += channels;
      m.c += channels;
      for (Steps& part : parts) part.base += channels * element_bytes(T);
    };
    while (rows <= L::kWideRows && d + 32 <= dim) {
      aim(32);
      Product<L, T, 2, true>::template run<2>(rows, m, parts, dim);
      advance(32);
    }
    while (d + 16 <= dim) {
      aim(16);
      Product<L, T, 1, true>::template run<2>(rows, m, parts, dim);
      advance(16);
    }
    if (d < dim) Product<L, T, 1, true, true>::template run<2>(rows, m, parts, dim);
  }
};

// Calls f(KeyBlock or ValueBlock of the type).
template <class L, template <class, DType> class Block, class F>
TOCCATA_INLINE void with_type(DType type, F f) {
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
