// A scratch panel: weights of one group, unpacked once for many tokens, run by run:
// [f32 scale x 16][f32 min x 16, as many as the format has][codes], where codes are 64 bytes a quad (narrow formats),
// or 128 bytes of int16 values, factors multiplied in: the even pairs of 16 rows, then the odd ones (wide formats).
// Formats of one shape share their kernels.
#pragma once

#include "kernels/x86/avx512/matmul_codes.h"

namespace toccata::kernels::avx512 {
namespace {

template <class S>
struct Panel {
  using T = S;
  static constexpr int kRuns = 1;
  static constexpr int kCodes = 64 + 64 * T::kMins;
  static constexpr int kQuadBytes = T::kWide ? 128 : 64;
  static constexpr int kBytes = kCodes + 8 * kQuadBytes;

  static TOCCATA_INLINE const uint8_t* codes(const uint8_t* run, int) { return run + kCodes; }
  template <int kQuad>
  static TOCCATA_INLINE __m512i quad(const uint8_t* codes) {
    return load512(codes + kQuadBytes * kQuad);
  }
  template <int kQuad>
  static TOCCATA_INLINE Pairs pairs(const uint8_t* codes) {
    return {{load512(codes + kQuadBytes * kQuad), load512(codes + kQuadBytes * kQuad + 64)}};
  }
  template <bool>
  static TOCCATA_INLINE void factors(const uint8_t*, int, __m512i*) {}
  template <bool>
  static TOCCATA_INLINE __m512 scale(const uint8_t* run, int) {
    return _mm512_castsi512_ps(load512(run));
  }
  template <bool, int kIndex>
  static TOCCATA_INLINE __m512 min(const uint8_t* run, int) {
    return _mm512_castsi512_ps(load512(run + 64 + 64 * kIndex));
  }
};

// Values of wide codes with the centre taken off and the factor (an int32 of each row) multiplied in. Exact in int16:
// at most 32 * 128 (Q6_K) or 127 * 32 (IQ4_XS).
template <class T>
TOCCATA_INLINE __m512i finish_values(__m512i v, __m512i factor) {
  if constexpr (T::kCentre > 0) v = _mm512_sub_epi16(v, _mm512_set1_epi16(1 << T::kCentre));
  if constexpr (T::kFactors > 0) {
    const __m512i low = _mm512_and_si512(factor, _mm512_set1_epi32(0xffff));
    v = _mm512_mullo_epi16(v, _mm512_or_si512(low, _mm512_slli_epi32(factor, 16)));
  }
  return v;
}

// One run of a packed block.
template <DType kType, bool kOdd>
TOCCATA_INLINE void unpack_run(const uint8_t* block, int run, uint8_t* to) {
  using T = Traits<kType>;
  using D = Direct<kType>;
  using P = Panel<ShapeOf<T>>;
  store512(to, _mm512_castps_si512(D::template scale<kOdd>(block, run)));
  unroll<0, T::kMins>([&](auto i) TOCCATA_LAMBDA {
    store512(to + 64 + 64 * i.value, _mm512_castps_si512(D::template min<kOdd, i.value>(block, run)));
  });
  __m512i factors[2] = {};
  D::template factors<kOdd>(block, run, factors);
  const uint8_t* codes = D::codes(block, run);
  uint8_t* out = to + P::kCodes;
  unroll<0, 8>([&](auto q) TOCCATA_LAMBDA {
    if constexpr (T::kWide) {
      const Pairs w = D::template pairs<q.value>(codes);
      for (int odd = 0; odd < 2; ++odd) {
        store512(out + P::kQuadBytes * q.value + 64 * odd,
                 finish_values<T>(w.v[odd], factors[T::kFactors == 2 ? q.value / 4 : 0]));
      }
    } else {
      store512(out + P::kQuadBytes * q.value, D::template quad<q.value>(codes));
    }
  });
}

// `blocks` packed blocks.
template <DType kType>
void unpack_panel(const uint8_t* w, int64_t blocks, uint8_t* panel) {
  constexpr int kRuns = Direct<kType>::kRuns, kRunBytes = Panel<ShapeOf<Traits<kType>>>::kBytes;
  for (int64_t b = 0; b < blocks; ++b, w += Direct<kType>::kBytes) {
    for (int run = 0; run < kRuns; run += 2) {
      unpack_run<kType, false>(w, run, panel);
      if constexpr (kRuns > 1) unpack_run<kType, true>(w, run + 1, panel + kRunBytes);
      panel += (kRuns > 1 ? 2 : 1) * kRunBytes;
    }
  }
}

}  // namespace
}  // namespace toccata::kernels::avx512
