// The inner products of attention on 16 lanes: C[rows][16 N] += A[rows][k] B[k][16 N], one fma chain per element in
// ascending k. Serves S = Q K^T (B: keys as lanes) and O += P V (B: channels as lanes). B is read from the cache and
// converted on the way, which is exact. That is faster than a pass that converts a tile to f32 first even for 96 rows:
// the conversions hide behind the products of 6 rows, and half the bytes pass
// through the L1 cache. Quantised types: kernels/x86/attn_quant.h.
#pragma once

#include "kernels/attn.h"
#include "kernels/x86/vec_half.h"

namespace toccata::kernels {
namespace {

// The right operand: steps of a matrix in one cache block, or in two blocks one after the other.
struct Steps {
  const std::byte* base;
  int count;
};

// What comes next is fetched into the L2 cache meanwhile, `step` bytes per step of the product: a decode reads each
// block once, and the hardware's prefetchers start anew at every block and sit idle while a block is used again from
// the L1 cache. It is worth 1.4 to 2 times the speed there and costs nothing elsewhere. Idle: step 0, any address.
struct Ahead {
  const std::byte* base;
  int step;
};

// The left operand and the result, rows a_stride and c_stride apart. scale: null, and C starts at +0; or C is
// multiplied by scale[row] before the chain.
struct Rows {
  const float* a;
  size_t a_stride;
  float* c;
  size_t c_stride;
  const float* scale;
  Ahead ahead;
};

// What is known at compile time: the cache type, 16 N lanes, and whether these are only 8 (N = 1; the last channels of
// a head size that is no multiple of 16; the upper lanes are 0).
template <class L, DType T, int N, bool kScale, bool kHalf = false>
struct Product {
  // kParts parts of B, `stride` elements from step to step.
  template <int R, int kParts>
  static TOCCATA_INLINE void multiply(const Rows& m, const Steps* parts, int stride) {
    L acc[R][N];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) {
        acc[r][n] =
            kScale ? L::load(m.c + static_cast<size_t>(r) * m.c_stride + 16 * n) * L::all(m.scale[r]) : L::all(0.0f);
      }
    }
    const float* a = m.a;
    const char* ahead = reinterpret_cast<const char*>(m.ahead.base);
    for (int part = 0; part < kParts; ++part) {
      const std::byte* b = parts[part].base;
      for (int k = 0; k < parts[part].count; ++k, ++a, ahead += m.ahead.step) {
        _mm_prefetch(ahead, _MM_HINT_T1);
        // Lanes outside, rows inside: at most one right operand is alive at a time.
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) {
          const size_t at = static_cast<size_t>(k * stride + 16 * n);
          const L lanes = kHalf ? L::widen_half(b, at, T) : L::widen(b, at, T);
#pragma GCC unroll 16
          for (int r = 0; r < R; ++r) {
            acc[r][n] = L::fma(L::all(a[static_cast<size_t>(r) * m.a_stride]), lanes, acc[r][n]);
          }
        }
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) acc[r][n].store(m.c + static_cast<size_t>(r) * m.c_stride + 16 * n);
    }
  }

  // The same for a number of rows known at run time, at most R.
  template <int kParts, int R = N == 1 ? L::kRows : L::kWideRows>
  static TOCCATA_INLINE void run(int rows, const Rows& m, const Steps* parts, int stride) {
    if constexpr (R > 1) {
      if (rows < R) {
        run<kParts, R - 1>(rows, m, parts, stride);
        return;
      }
    }
    multiply<R, kParts>(m, parts, stride);
  }
};

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
