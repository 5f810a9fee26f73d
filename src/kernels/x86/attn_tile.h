// The inner products of attention on 16 lanes: C[rows][16] += A[rows][k] B[k][16], one fma chain per element in
// ascending k, with a register tile of L::kRows rows. Serves S = Q K^T (B: keys as lanes) and O += P V (B: channels as
// lanes); B comes from f32 panels that were dequantised once for many rows, or straight from the cache for few rows.
// Conversion to f32 is exact, so both give the same bits.
#pragma once

#include "kernels/attn.h"
#include "kernels/x86/vec_half.h"

namespace toccata::kernels {
namespace {

// Right operands: at(k, n) is lanes [16 n, 16 n + 16) of step k.
template <class L>
struct PanelB {  // [panel][k][16] as f32
  const float* base;
  int panel_stride;
  TOCCATA_INLINE L at(int k, int n) const { return L::load(base + 16 * k + n * panel_stride); }
};

template <class L, DType T>
struct CacheB {  // a matrix in a cache block
  const std::byte* base;
  int stride;  // elements from step to step
  TOCCATA_INLINE L at(int k, int n) const { return L::widen(base, static_cast<size_t>(k * stride + 16 * n), T); }
};

template <class L, DType T>
struct CacheHalfB {  // the last 8 channels of a head size that is no multiple of 16
  const std::byte* base;
  int stride;
  TOCCATA_INLINE L at(int k, int) const { return L::widen_half(base, static_cast<size_t>(k * stride), T); }
};

// kScale: C = C * scale[row] before the chain; else C starts at +0.
template <class L, int R, int N, bool kScale, class B>
TOCCATA_INLINE void multiply(const float* a, size_t a_stride, int steps, B b, const float* scale, float* c,
                             size_t c_stride) {
  L acc[R][N];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) {
      acc[r][n] = kScale ? L::load(c + static_cast<size_t>(r) * c_stride + 16 * n) * L::all(scale[r]) : L::all(0.0f);
    }
  }
  for (int k = 0; k < steps; ++k) {
    L lanes[N];
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) lanes[n] = b.at(k, n);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const L left = L::all(a[static_cast<size_t>(r) * a_stride + static_cast<size_t>(k)]);
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) acc[r][n] = L::fma(left, lanes[n], acc[r][n]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) acc[r][n].store(c + static_cast<size_t>(r) * c_stride + 16 * n);
  }
}

// The same for a number of rows known at run time, at most L::kRows.
template <class L, int N, bool kScale, class B, int R = L::kRows>
TOCCATA_INLINE void multiply_rows(int rows, const float* a, size_t a_stride, int steps, B b, const float* scale,
                                  float* c, size_t c_stride) {
  if constexpr (R > 1) {
    if (rows < R) {
      multiply_rows<L, N, kScale, B, R - 1>(rows, a, a_stride, steps, b, scale, c, c_stride);
      return;
    }
  }
  multiply<L, R, N, kScale, B>(a, a_stride, steps, b, scale, c, c_stride);
}

// Rows are worked on in groups of at most L::kRows, of nearly equal size: 7 rows as 4 + 3 keep the pipes busier than
// 6 + 1.
template <class L>
struct RowGroups {
  int rows, count;
  explicit RowGroups(int n) : rows(n), count((n + L::kRows - 1) / L::kRows) {}
  int begin(int g) const { return g * rows / count; }
};

}  // namespace
}  // namespace toccata::kernels
