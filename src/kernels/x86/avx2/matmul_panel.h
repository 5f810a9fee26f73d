// A scratch panel: weights of one group, unpacked once for many tokens, run by run:
// [f32 scale x 16][f32 min x 16, as many as the format has][codes], where codes are 64 bytes a quad (narrow formats),
// or 128 bytes of int16 values, factors multiplied in: the even pairs of 16 rows, then the odd ones (wide formats).
// Formats of one shape share their kernels.
#pragma once

#include "kernels/x86/avx2/matmul_codes.h"

namespace toccata::kernels::avx2 {
namespace {

template <class S>
struct Panel {
  using T = S;
  static constexpr int kRuns = 1;
  static constexpr int kCodes = 64 + 64 * T::kMins;
  static constexpr int kQuadBytes = T::kWide ? 128 : 64;
  static constexpr int kBytes = kCodes + 8 * kQuadBytes;

  static TOCCATA_INLINE const uint8_t* codes(const uint8_t* run, int, int half) { return run + kCodes + 32 * half; }
  template <int kQuad>
  static TOCCATA_INLINE __m256i quad(const uint8_t* codes) {
    return load256(codes + kQuadBytes * kQuad);
  }
  template <int kQuad>
  static TOCCATA_INLINE Pairs pairs(const uint8_t* codes) {
    return {{load256(codes + kQuadBytes * kQuad), load256(codes + kQuadBytes * kQuad + 64)}};
  }
  template <bool>
  static TOCCATA_INLINE void factors(const uint8_t*, int, int, __m256i*) {}
  template <bool>
  static TOCCATA_INLINE __m256 scale(const uint8_t* run, int, int half) {
    return _mm256_castsi256_ps(load256(run + 32 * half));
  }
  template <bool, int kIndex>
  static TOCCATA_INLINE __m256 min(const uint8_t* run, int, int half) {
    return _mm256_castsi256_ps(load256(run + 64 + 64 * kIndex + 32 * half));
  }
};

// One run of a packed block, 8 rows.
template <DType kType, bool kOdd>
TOCCATA_INLINE void unpack_run(const uint8_t* block, int run, int half, uint8_t* to) {
  using T = Traits<kType>;
  using D = Direct<kType>;
  using P = Panel<ShapeOf<T>>;
  store256(to + 32 * half, D::template scale<kOdd>(block, run, half));
  unroll<0, T::kMins>([&](auto i) TOCCATA_LAMBDA {
    store256(to + 64 + 64 * i.value + 32 * half, D::template min<kOdd, i.value>(block, run, half));
  });
  __m256i factors[2];
  D::template factors<kOdd>(block, run, half, factors);
  const uint8_t* codes = D::codes(block, run, half);
  uint8_t* out = to + P::kCodes + 32 * half;
  unroll<0, 8>([&](auto q) TOCCATA_LAMBDA {
    if constexpr (T::kWide) {
      const Pairs w = D::template pairs<q.value>(codes);
      for (int odd = 0; odd < 2; ++odd) {
        __m256i v = w.v[odd];
        if constexpr (T::kCentre > 0) v = _mm256_sub_epi16(v, _mm256_set1_epi16(1 << T::kCentre));
        // Exact: at most 32 * 128 (Q6_K) or 127 * 32 (IQ4_XS).
        if constexpr (T::kFactors > 0) v = _mm256_mullo_epi16(v, factors[T::kFactors == 2 ? q.value / 4 : 0]);
        store256(out + P::kQuadBytes * q.value + 64 * odd, v);
      }
    } else {
      store256(out + P::kQuadBytes * q.value, D::template quad<q.value>(codes));
    }
  });
}

// `blocks` packed blocks.
template <DType kType>
void unpack_panel(const uint8_t* w, int64_t blocks, uint8_t* panel) {
  constexpr int kRuns = Direct<kType>::kRuns, kRunBytes = Panel<ShapeOf<Traits<kType>>>::kBytes;
  for (int64_t b = 0; b < blocks; ++b, w += Direct<kType>::kBytes) {
    for (int run = 0; run < kRuns; run += 2) {
      for (int half = 0; half < 2; ++half) {
        unpack_run<kType, false>(w, run, half, panel);
        if constexpr (kRuns > 1) unpack_run<kType, true>(w, run + 1, half, panel + kRunBytes);
      }
      panel += (kRuns > 1 ? 2 : 1) * kRunBytes;
    }
  }
}

}  // namespace
}  // namespace toccata::kernels::avx2
