// The attention kernels on 16 lanes; kernels/generic/attn.cc is the reference.
#pragma once

#include "kernels/x86/attn_tile.h"
#include "kernels/x86/attn_view.h"

namespace toccata::kernels {
namespace {

// The scratch of a call (attn_scratch_bytes).
struct AttnScratch {
  float* k;       // [4 panels of 16 keys][head_dim][16]
  float* v;       // [panels of 16 channels][64 keys][16]
  float* s;       // [rows][64]
  float* ones;    // [kAttnRows]
  float* factor;  // [kAttnRows]
  AttnScratch(int head_dim, std::byte* base) {
    k = reinterpret_cast<float*>(base);
    v = k + kAttnTile * attn_o_stride(head_dim);
    s = v + kAttnTile * attn_o_stride(head_dim);
    ones = s + kAttnTile * kAttnRows;
    factor = ones + kAttnRows;
    for (int i = 0; i < kAttnRows; ++i) ones[i] = 1.0f;
  }
};

// Keys of one tile with their cache type. K and V types are template arguments of the bodies that touch them.
template <class L, DType T>
struct KeyTile {
  // Few rows: a conversion per use is cheaper than a pass through memory.
  static TOCCATA_INLINE bool direct(const AttnTile& tile) { return tile.rows <= L::kRows; }

  // Panels [first, end) of 16 keys as f32.
  static void load(const AttnTile& tile, int first, int end, const std::byte* const* blocks, float* k) {
    for (int p = first; p < end; ++p) {
      const std::byte* block = blocks[p / 2];
      float* panel = k + p * tile.head_dim * 16;
      for (int d = 0; d < tile.head_dim; ++d) {
        L::widen(block, static_cast<size_t>(d * kKvBlock + p % 2 * 16), T).store(panel + 16 * d);
      }
    }
  }

  // Scores of rows [begin, end) for the panels [first, last).
  static void scores(const AttnTile& tile, int begin, int end, int first, int last, const std::byte* const* blocks,
                     const float* k, float* s, size_t stride) {
    const size_t dim = static_cast<size_t>(tile.head_dim);
    const float* q = tile.q + static_cast<size_t>(begin) * dim;
    float* c = s + static_cast<size_t>(begin) * stride;
    for (int p = first; p < last;) {
      if (direct(tile)) {
        p += direct_panels(end - begin, q, dim, p, last, blocks, c, stride);
      } else if (L::kPanels == 2 && p + 2 <= last) {
        const PanelB<L> b{k + p * tile.head_dim * 16, tile.head_dim * 16};
        multiply_rows<L, L::kPanels, false>(end - begin, q, dim, tile.head_dim, b, nullptr, c + 16 * p, stride);
        p += 2;
      } else {
        const PanelB<L> b{k + p * tile.head_dim * 16, 0};
        multiply_rows<L, 1, false>(end - begin, q, dim, tile.head_dim, b, nullptr, c + 16 * p, stride);
        p += 1;
      }
    }
  }

  // One or two panels from the cache; two where the accumulators fit, so that whole cache lines are used at once.
  static int direct_panels(int rows, const float* q, size_t dim, int p, int last, const std::byte* const* blocks,
                           float* c, size_t stride) {
    constexpr int kWide = L::kPanels == 2 ? L::kRows : L::kRows / 2;
    const CacheB<L, T> b{blocks[p / 2] + p % 2 * 16 * size(), kKvBlock};
    const int steps = static_cast<int>(dim);
    if (p % 2 == 0 && p + 2 <= last && rows <= kWide) {
      multiply_rows<L, 2, false, CacheB<L, T>, kWide>(rows, q, dim, steps, b, nullptr, c + 16 * p, stride);
      return 2;
    }
    multiply_rows<L, 1, false>(rows, q, dim, steps, b, nullptr, c + 16 * p, stride);
    return 1;
  }

  static constexpr int size() { return T == DType::kF32 ? 4 : 2; }
};

template <class L, DType T>
struct ValueTile {
  static TOCCATA_INLINE bool direct(const AttnTile& tile) { return tile.rows <= L::kRows; }
  static constexpr int size() { return T == DType::kF32 ? 4 : 2; }

  // V of keys [first, end) as f32 panels; the channels beyond head_dim of the last panel are 0.
  static void load(const AttnTile& tile, int first, int end, const std::byte* const* blocks, float* v) {
    for (int j = first; j < end; ++j) {
      const std::byte* row = blocks[j / kKvBlock] + tile.v_offset + j % kKvBlock * tile.head_dim * size();
      float* to = v + 16 * j;
      int d = 0;
      for (; d + 16 <= tile.head_dim; d += 16) L::widen(row, static_cast<size_t>(d), T).store(to + d * kAttnTile);
      if (d < tile.head_dim) L::widen_half(row, static_cast<size_t>(d), T).store(to + d * kAttnTile);
    }
  }

  // O[row] = O[row] scale[row], then the chain over keys [from, to), for rows [begin, end).
  static void accumulate(const AttnTile& tile, int begin, int end, int from, int to, const std::byte* const* blocks,
                         const float* v, const float* p, size_t stride, const float* scale, const float* ones,
                         float* o) {
    const size_t o_stride = static_cast<size_t>(attn_o_stride(tile.head_dim));
    const float* a = p + static_cast<size_t>(begin) * stride;
    float* c = o + static_cast<size_t>(begin) * o_stride;
    scale += begin;
    if (!direct(tile)) {
      panels(end - begin, a + from, stride, to - from, v + 16 * from, scale, c, o_stride);
      return;
    }
    for (int j = from; j < to;) {
      const int stop = to < (j / kKvBlock + 1) * kKvBlock ? to : (j / kKvBlock + 1) * kKvBlock;
      const std::byte* row = blocks[j / kKvBlock] + tile.v_offset + j % kKvBlock * tile.head_dim * size();
      channels(end - begin, a + j, stride, stop - j, row, tile.head_dim, j == from ? scale : ones, c, o_stride);
      j = stop;
    }
  }

  static void panels(int rows, const float* a, size_t stride, int steps, const float* v, const float* scale, float* c,
                     size_t o_stride) {
    constexpr int kPanel = kAttnTile * 16;
    size_t d = 0;
    if (L::kPanels == 2) {
      for (; d + 32 <= o_stride; d += 32) {
        multiply_rows<L, L::kPanels, true>(rows, a, stride, steps, PanelB<L>{v + d / 16 * kPanel, kPanel}, scale, c + d,
                                           o_stride);
      }
    }
    for (; d < o_stride; d += 16) {
      multiply_rows<L, 1, true>(rows, a, stride, steps, PanelB<L>{v + d / 16 * kPanel, 0}, scale, c + d, o_stride);
    }
  }

  static void channels(int rows, const float* a, size_t stride, int steps, const std::byte* v, int head_dim,
                       const float* scale, float* c, size_t o_stride) {
    constexpr int kWide = L::kPanels == 2 ? L::kRows : L::kRows / 2;
    int d = 0;
    if (rows <= kWide) {
      for (; d + 32 <= head_dim; d += 32) {
        multiply_rows<L, 2, true, CacheB<L, T>, kWide>(rows, a, stride, steps, {v + d * size(), head_dim}, scale, c + d,
                                                       o_stride);
      }
    }
    for (; d + 16 <= head_dim; d += 16) {
      multiply_rows<L, 1, true>(rows, a, stride, steps, CacheB<L, T>{v + d * size(), head_dim}, scale, c + d, o_stride);
    }
    if (d < head_dim) {
      multiply_rows<L, 1, true>(rows, a, stride, steps, CacheHalfB<L, T>{v + d * size(), head_dim}, scale, c + d,
                                o_stride);
    }
  }
};

// Calls f(KeyTile or ValueTile of the type).
template <class L, template <class, DType> class Tile, class F>
TOCCATA_INLINE void with_type(DType type, F f) {
  if (type == DType::kF16) {
    f(Tile<L, DType::kF16>());
  } else if (type == DType::kBF16) {
    f(Tile<L, DType::kBF16>());
  } else {
    f(Tile<L, DType::kF32>());
  }
}

}  // namespace
}  // namespace toccata::kernels
