// Quantised K and V (kernels/kv_layout.h) for few rows, as in a decode: codes are dequantised in registers on their way
// into the products, since no other row would use them again. The arithmetic is that of attn_tile.h on the same values.
#pragma once

#include "kernels/x86/attn_body.h"

namespace toccata::kernels {
namespace {

// What the multiplications below know at compile time: rows, 16 N lanes, and for nibbles and N = 1 which of the two.
template <int R, int N, bool kHigh>
struct Coded {};

// Lanes n of the codes at `codes`: of bytes the next 16, of nibbles the upper ones.
template <class L, DType T, int N, bool kHigh>
TOCCATA_INLINE L coded_lanes(const std::byte* codes, int n) {
  if constexpr (T == DType::kQ8_0) return L::from_bytes(codes16<T, false>(codes + 16 * n));
  if constexpr (N == 1) return L::from_bytes(codes16<T, kHigh>(codes));
  return n == 0 ? L::from_bytes(codes16<T, false>(codes)) : L::from_bytes(codes16<T, true>(codes));
}

// f(Coded<rows, N, kHigh>) for a number of rows known at run time, at most R.
template <class L, int N, bool kHigh, class F, int R = N == 1 ? L::kRows : L::kWideRows>
TOCCATA_INLINE void with_rows(int rows, F f) {
  if constexpr (R > 1) {
    if (rows < R) return with_rows<L, N, kHigh, F, R - 1>(rows, f);
  }
  f(Coded<R, N, kHigh>());
}

template <class L, DType T>
struct CodedKeys {
  explicit CodedKeys(const AttnScratch&) {}
  TOCCATA_INLINE const std::byte* open(const AttnTile&, const std::byte* k) const { return k; }

  // Panels [panel, panel + N) of the block k.
  template <int R, int N, bool kHigh>
  static TOCCATA_INLINE void multiply(Coded<R, N, kHigh>, const float* q, int dim, const std::byte* k, int panel,
                                      Ahead ahead, float* s, size_t stride) {
    L acc[R][N];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) acc[r][n] = L::all(0.0f);
    }
    const std::byte* codes = k + kv_scale_bytes(dim) + (T == DType::kQ8_0 ? 16 * panel : 0);
    for (int d = 0; d < dim;) {
      L scale[N];
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) {
        scale[n] = L::widen(k, static_cast<size_t>(d / kKvGroup * kKvBlock + 16 * (panel + n)), DType::kF16);
      }
      const int end = d + kKvGroup < dim ? d + kKvGroup : dim;
      for (; d < end; ++d, codes += kv_k_step(T), ahead.base += ahead.step) {
        _mm_prefetch(reinterpret_cast<const char*>(ahead.base), _MM_HINT_T1);
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) {
          const L lanes = coded_lanes<L, T, N, kHigh>(codes, n) * scale[n];
#pragma GCC unroll 16
          for (int r = 0; r < R; ++r) acc[r][n] = L::fma(L::all(q[r * dim + d]), lanes, acc[r][n]);
        }
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) acc[r][n].store(s + static_cast<size_t>(r) * stride + 16 * n);
    }
  }

  // As KeyBlock::scores.
  static TOCCATA_NOINLINE void scores(const AttnTile& tile, int begin, int end, int p, int last, const std::byte* k,
                                      const std::byte* v, float* s, size_t stride) {
    const int dim = tile.head_dim, rows = end - begin, pace = v ? fetch_step(tile) : 0;
    const float* q = tile.q + begin * dim;
    if (!v) v = k;
    while (p < last) {
      const int panel = p % 2;
      float* to = s + static_cast<size_t>(begin) * stride + 16 * p;
      Ahead ahead{v + panel * dim * pace, pace};
      const auto body = [&](auto coded) TOCCATA_LAMBDA { multiply(coded, q, dim, k, panel, ahead, to, stride); };
      if (panel == 0 && p + 2 <= last && rows <= L::kWideRows) {
        ahead.step = 2 * pace;
        with_rows<L, 2, false>(rows, body);
        p += 2;
        continue;
      }
      panel == 0 ? with_rows<L, 1, false>(rows, body) : with_rows<L, 1, true>(rows, body);
      p += 1;
    }
  }
};

template <class L, DType T>
struct CodedValues {
  float* scales;  // [64][groups]
  explicit CodedValues(const AttnScratch& scratch) : scales(scratch.scales) {}

  TOCCATA_INLINE void open(const AttnTile& tile, const View&, const std::byte* const* blocks,
                           const std::byte** v) const {
    const int count = kKvBlock * kv_groups(tile.head_dim);
    for (int i = 0; i < 2; ++i) {
      v[i] = blocks[i] ? blocks[i] + tile.v_offset : nullptr;
      for (int x = 0; v[i] && x < count; x += 16) {
        L::widen(v[i], static_cast<size_t>(x), DType::kF16).store(scales + i * count + x);
      }
    }
  }

  // One call's constant parts: keys [from, to) of the tile.
  struct Range {
    const std::byte* const* v;
    int from, to, dim;
    const float* p;  // [rows][stride], by key of the tile
    size_t stride;
    const float* scale;  // of O, by row
  };

  // Channels [d, d + 16 N), or only 8 of them.
  template <bool kHalf, int R, int N, bool kHigh>
  TOCCATA_INLINE void multiply(Coded<R, N, kHigh>, const Range& range, int d, Ahead ahead, float* o) const {
    const int dim = range.dim, groups = kv_groups(dim), row = kv_v_step(T, dim);
    const size_t o_stride = static_cast<size_t>(attn_o_stride(dim));
    L acc[R][N];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) {
        acc[r][n] = L::load(o + static_cast<size_t>(r) * o_stride + d + 16 * n) * L::all(range.scale[r]);
      }
    }
    const int column = kv_scale_bytes(dim) + (T == DType::kQ4_0 ? d / kKvGroup * (kKvGroup / 2) : d);
    for (int j = range.from; j < range.to;) {
      const int end = range.to < (j / kKvBlock + 1) * kKvBlock ? range.to : (j / kKvBlock + 1) * kKvBlock;
      const std::byte* codes = range.v[j / kKvBlock] + column + j % kKvBlock * row;
      const float* of_token = scales + j * groups + d / kKvGroup;
      const float* p = range.p + j;
      for (; j < end; ++j, codes += row, of_token += groups, ++p, ahead.base += ahead.step) {
        _mm_prefetch(reinterpret_cast<const char*>(ahead.base), _MM_HINT_T1);
        const L scale = L::all(*of_token);
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) {
          const L whole = kHalf ? L::from_bytes(codes8<T, kHigh>(codes)) : coded_lanes<L, T, N, kHigh>(codes, n);
          const L lanes = whole * scale;
#pragma GCC unroll 16
          for (int r = 0; r < R; ++r) {
            acc[r][n] = L::fma(L::all(p[static_cast<size_t>(r) * range.stride]), lanes, acc[r][n]);
          }
        }
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) acc[r][n].store(o + static_cast<size_t>(r) * o_stride + d + 16 * n);
    }
  }

  // As ValueBlock::accumulate.
  TOCCATA_NOINLINE void accumulate(const AttnTile& tile, int begin, int end, int from, int to,
                                   const std::byte* const* v, const std::byte* const* next, const float* p,
                                   size_t stride, const float* scale, float* o) const {
    const int dim = tile.head_dim, rows = end - begin;
    const Range range{v, from, to, dim, p + static_cast<size_t>(begin) * stride, stride, scale + begin};
    const NextKeys keys(tile, next);
    o += begin * attn_o_stride(dim);
    Ahead ahead{v[from / kKvBlock], 0};
    int d = 0;
    for (; rows <= L::kWideRows && d + 32 <= dim; d += 32) {
      keys.aim(d, 32, ahead);
      with_rows<L, 2, false>(rows, [&](auto coded) TOCCATA_LAMBDA { multiply<false>(coded, range, d, ahead, o); });
    }
    for (; d + 16 <= dim; d += 16) {
      keys.aim(d, 16, ahead);
      const auto body = [&](auto coded) TOCCATA_LAMBDA { multiply<false>(coded, range, d, ahead, o); };
      d % kKvGroup == 0 ? with_rows<L, 1, false>(rows, body) : with_rows<L, 1, true>(rows, body);
    }
    if (d < dim) {
      const auto body = [&](auto coded) TOCCATA_LAMBDA { multiply<true>(coded, range, d, ahead, o); };
      d % kKvGroup == 0 ? with_rows<L, 1, false>(rows, body) : with_rows<L, 1, true>(rows, body);
    }
  }
};

}  // namespace
}  // namespace toccata::kernels
