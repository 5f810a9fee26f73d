// The inner loops of the quantised formats: a run of 32 elements, the 16 rows of a group, kTokens activation rows.
//
// A vector is a quad: the codes of 4 consecutive k of all 16 rows, which one vpdpbusd multiplies with the 4 activation
// bytes of a token and adds to 16 int32 sums. It does not saturate.
//
// Narrow codes are unsigned bytes u = value + 2^c. Each int32 lane starts at -2^c times the sum of the activations of
// its run: the two pair sums of act_layout.h, multiplied and added by one vpmaddwd.
//
// Wide values are int16 and multiplied by vpdpwssd, two elements at a time. |sum| <= 32 * 4096 * 16383 < 2^31
// (act_layout.h).
#pragma once

#include "kernels/act_layout.h"
#include "kernels/x86/avx512/matmul_panel.h"

namespace toccata::kernels::avx512 {
namespace {

// Keeps GCC from reordering products so that registers run out.
TOCCATA_INLINE void pin([[maybe_unused]] __m512i& v) {
#if defined(__AVX512F__)
  asm("" : "+v"(v));
#endif
}

// The same field of token t's record, where p is that of the first token.
template <class T>
TOCCATA_INLINE const uint8_t* of_token(const T* p, int t, size_t act_stride) {
  return reinterpret_cast<const uint8_t*>(p) + static_cast<size_t>(t) * act_stride;
}

// sum = the products of a run of narrow codes.
template <class W, int kTokens>
TOCCATA_INLINE void add_narrow(const uint8_t* codes, const ActBlock8* a, size_t act_stride, __m512i* sum) {
  constexpr int kCentre = W::T::kCentre;
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
    sum[t] = _mm512_setzero_si512();
    if constexpr (kCentre > 0) {
      const __m512i pair_sums = broadcast4(of_token(a->neg_pair_sum, t, act_stride));
      sum[t] = _mm512_madd_epi16(pair_sums, _mm512_set1_epi16(1 << kCentre));
    }
  }
  unroll<0, 8>([&](auto i) TOCCATA_LAMBDA {
    constexpr int quad = interleaved(i.value);
    __m512i w = W::template quad<quad>(codes);
    pin(w);
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      const __m512i q = broadcast4(of_token(a->q + 4 * quad, t, act_stride));
      sum[t] = _mm512_dpbusd_epi32(sum[t], w, q);
      pin(sum[t]);
    }
  });
}

// sum += the products of a quad of wide codes.
template <class W, int kTokens, int kQuad>
TOCCATA_INLINE void add_quad(const uint8_t* codes, const ActBlock16* a, size_t act_stride, __m512i* sum) {
  Pairs w = W::template pairs<kQuad>(codes);
  unroll<0, 2>([&](auto odd) TOCCATA_LAMBDA {
    pin(w.v[odd.value]);
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      const __m512i q = broadcast4(of_token(a->q + 4 * kQuad + 2 * odd.value, t, act_stride));
      sum[t] = _mm512_dpwssd_epi32(sum[t], w.v[odd.value], q);
      pin(sum[t]);
    }
  });
}

// sum = the products of a run of wide codes.
template <class W, int kTokens>
TOCCATA_INLINE void add_wide(const uint8_t* codes, const ActBlock16* a, size_t act_stride, __m512i* sum) {
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) sum[t] = _mm512_setzero_si512();
  unroll<0, 8>([&](auto i) TOCCATA_LAMBDA { add_quad<W, kTokens, interleaved(i.value)>(codes, a, act_stride, sum); });
}

// The same where 16 elements, or all 32, have an integer scale. The sums are multiplied rather than the weights.
template <class W, int kTokens>
TOCCATA_INLINE void add_wide_scaled(const uint8_t* codes, const __m512i* factors, const ActBlock16* a,
                                    size_t act_stride, __m512i* sum) {
  using T = typename W::T;
  constexpr int kQuads = 8 / T::kFactors;
  unroll<0, T::kFactors>([&](auto f) TOCCATA_LAMBDA {
    __m512i part[kTokens];
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      part[t] = _mm512_setzero_si512();
      if constexpr (T::kCentre > 0) {
        static_assert(T::kFactors == 2);
        part[t] = _mm512_slli_epi32(broadcast4(of_token(a->neg_sum + f.value, t, act_stride)), T::kCentre);
      }
    }
    unroll<0, kQuads>([&](auto i) TOCCATA_LAMBDA {
      constexpr int quad = kQuads == 8 ? interleaved(i.value) : 4 * f.value + i.value;
      add_quad<W, kTokens, quad>(codes, a, act_stride, part);
    });
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      const __m512i scaled = _mm512_mullo_epi32(part[t], factors[f.value]);
      sum[t] = f.value == 0 ? scaled : _mm512_add_epi32(sum[t], scaled);
    }
  });
}

// float(asum), or its product with the scale, of minimum kIndex of the run.
template <class Act, int kIndex>
TOCCATA_INLINE __m512 token_sum(const Act* a) {
  if constexpr (sizeof(Act) == sizeof(ActBlock16)) {
    const __m512i sum = _mm512_sub_epi32(_mm512_setzero_si512(), broadcast4(a->neg_sum + kIndex));
    return _mm512_mul_ps(_mm512_set1_ps(a->d), _mm512_cvtepi32_ps(sum));
  } else {
    return _mm512_set1_ps(a->d_sum);
  }
}

// acc += one run of a block, the scales and minima included. act: the run's record of the first token.
template <class W, int kTokens, bool kOdd>
TOCCATA_INLINE void add_run(const uint8_t* block, int run, const uint8_t* act, size_t act_stride, __m512* acc) {
  using T = typename W::T;
  using Act = typename T::Act;
  const auto* a = reinterpret_cast<const Act*>(act);
  const auto token = [&](int t) TOCCATA_LAMBDA { return reinterpret_cast<const Act*>(of_token(a, t, act_stride)); };
  const uint8_t* codes = W::codes(block, run);
  __m512i sum[kTokens];
  if constexpr (T::kFactors > 0) {
    __m512i factors[T::kFactors];
    W::template factors<kOdd>(block, run, factors);
    add_wide_scaled<W, kTokens>(codes, factors, a, act_stride, sum);
  } else if constexpr (T::kWide) {
    add_wide<W, kTokens>(codes, a, act_stride, sum);
  } else {
    add_narrow<W, kTokens>(codes, a, act_stride, sum);
  }
  const __m512 ds = W::template scale<kOdd>(block, run);
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
    const __m512 scale = _mm512_mul_ps(ds, _mm512_set1_ps(token(t)->d));
    acc[t] = _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(sum[t]), acc[t]);
  }
  unroll<0, T::kMins>([&](auto i) TOCCATA_LAMBDA {
    const __m512 dm = W::template min<kOdd, i.value>(block, run);
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      acc[t] = _mm512_fmadd_ps(dm, token_sum<Act, i.value>(token(t)), acc[t]);
    }
  });
}

}  // namespace
}  // namespace toccata::kernels::avx512
