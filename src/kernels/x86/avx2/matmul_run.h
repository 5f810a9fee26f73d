// The inner loops of the quantised formats: a run of 32 elements, the 16 rows of a group, kTokens activation rows.
//
// Narrow codes are unsigned bytes u = value + c of at most 5 bits. Each int16 lane starts at -c times the sum of its
// own activations (the two pair sums of act_layout.h, shifted), then adds one vpmaddubsw per quad. Additions wrap
// modulo 2^16, and the true final sum, of the centred values, fits int16 (the bounds stand in matmul_codes.h), so the
// result is exact whatever happens in between. One vpmaddwd by 1 then widens it. Compared with widening each quad this
// halves the instructions.
//
// Wide values are int16 and multiplied by vpmaddwd, two elements at a time, which for 8-bit codes costs what the bytes
// would (vpsignb, vpmaddubsw, vpmaddwd, vpaddd for four). |sum| <= 32 * 4096 * 16383 < 2^31 (act_layout.h).
//
// Registers: 4 tokens take 8 sums, 2 or 4 weight vectors, a broadcast and two products. A quad then costs 6 loads for
// 16 products and additions, which the two load ports keep up with. What is needed once per run lives in memory.
#pragma once

#include "kernels/act_layout.h"
#include "kernels/x86/avx2/matmul_panel.h"

namespace toccata::kernels::avx2 {
namespace {

// body(half, token) for both halves of each token's rows.
template <int kTokens, class Body>
TOCCATA_INLINE void for_each(Body&& body) {
  unroll<0, 2 * kTokens>([&](auto i) TOCCATA_LAMBDA { body(Int<i.value % 2>{}, Int<i.value / 2>{}); });
}

template <int kTokens>
struct IntSums {
  __m256i v[2][kTokens];
};
template <int kTokens>
struct FloatSums {
  __m256 v[2][kTokens];
};

// Keeps GCC from delaying chains of additions behind all the products that they add (its "temporary expression
// replacement"), which needs a register, or a spill, for each product, and from loading a weight anew for each use.
TOCCATA_INLINE void pin(__m256i& v) { asm("" : "+x"(v)); }

// Keeps sums that are used once per run out of the registers that the products need.
template <template <int> class Sums, int kTokens>
TOCCATA_INLINE void keep_in_memory(Sums<kTokens>& sums) {
  if constexpr (kTokens > 2) asm("" : "+m"(sums));
}

// The same field of token t's record, where p is that of the first token.
template <class T>
TOCCATA_INLINE const uint8_t* of_token(const T* p, int t, size_t act_stride) {
  return reinterpret_cast<const uint8_t*>(p) + static_cast<size_t>(t) * act_stride;
}

// sum += the products of kQuads quads from kFirst of the run, with narrow codes.
template <class W, int kTokens, int kFirst>
TOCCATA_INLINE void add_narrow(const uint8_t* const (&codes)[2], const ActBlock8* a, size_t act_stride,
                               IntSums<kTokens>& sum) {
  using T = typename W::T;
  IntSums<kTokens> lane;
  unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA {
    __m256i start = _mm256_setzero_si256();
    if constexpr (T::kCentre > 0) {
      start = _mm256_slli_epi16(broadcast4(of_token(a->neg_pair_sum, t.value, act_stride)), T::kCentre);
    }
    lane.v[0][t.value] = lane.v[1][t.value] = start;
  });
  unroll<0, T::kQuads>([&](auto i) TOCCATA_LAMBDA {
    constexpr int quad = T::kQuads == 8 ? interleaved(i.value) : kFirst + i.value;
    __m256i w[2] = {W::template quad<quad>(codes[0]), W::template quad<quad>(codes[1])};
    pin(w[0]), pin(w[1]);
    unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA {
      const __m256i q = broadcast4(of_token(a->q + 4 * quad, t.value, act_stride));
      for (int h = 0; h < 2; ++h) {
        lane.v[h][t.value] = _mm256_add_epi16(lane.v[h][t.value], _mm256_maddubs_epi16(w[h], q));
        pin(lane.v[h][t.value]);
      }
    });
  });
  for_each<kTokens>([&](auto h, auto t) TOCCATA_LAMBDA {
    __m256i& s = sum.v[h.value][t.value];
    const __m256i wide = _mm256_madd_epi16(lane.v[h.value][t.value], _mm256_set1_epi16(1));
    s = kFirst == 0 ? wide : _mm256_add_epi32(s, wide);
    pin(s);
  });
}

// sum += the products of a quad of wide codes.
template <class W, int kTokens, int kQuad>
TOCCATA_INLINE void add_quad(const uint8_t* const (&codes)[2], const ActBlock16* a, size_t act_stride,
                             IntSums<kTokens>& sum) {
  Pairs w[2] = {W::template pairs<kQuad>(codes[0]), W::template pairs<kQuad>(codes[1])};
  unroll<0, 2>([&](auto odd) TOCCATA_LAMBDA {
    pin(w[0].v[odd.value]), pin(w[1].v[odd.value]);
    unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA {
      const __m256i q = broadcast4(of_token(a->q + 4 * kQuad + 2 * odd.value, t.value, act_stride));
      for (int h = 0; h < 2; ++h) {
        __m256i& s = sum.v[h][t.value];
        s = _mm256_add_epi32(s, _mm256_madd_epi16(w[h].v[odd.value], q));
        pin(s);
      }
    });
  });
}

// sum = the products of a run of wide codes.
template <class W, int kTokens>
TOCCATA_INLINE void add_wide(const uint8_t* const (&codes)[2], const ActBlock16* a, size_t act_stride,
                             IntSums<kTokens>& sum) {
  for_each<kTokens>([&](auto h, auto t) TOCCATA_LAMBDA { sum.v[h.value][t.value] = _mm256_setzero_si256(); });
  unroll<0, 8>([&](auto i) TOCCATA_LAMBDA { add_quad<W, kTokens, interleaved(i.value)>(codes, a, act_stride, sum); });
}

// The same where 16 elements, or all 32, have an integer scale. The sums are multiplied rather than the weights.
template <class W, int kTokens>
TOCCATA_INLINE void add_wide_scaled(const uint8_t* const (&codes)[2], const __m256i (&factors)[2][2],
                                    const ActBlock16* a, size_t act_stride, IntSums<kTokens>& sum) {
  using T = typename W::T;
  constexpr int kQuads = 8 / T::kFactors;
  unroll<0, T::kFactors>([&](auto f) TOCCATA_LAMBDA {
    IntSums<kTokens> part;
    unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA {
      __m256i start = _mm256_setzero_si256();
      if constexpr (T::kCentre > 0) {
        static_assert(T::kFactors == 2);
        start = _mm256_slli_epi32(broadcast4(of_token(a->neg_sum + f.value, t.value, act_stride)), T::kCentre);
      }
      part.v[0][t.value] = part.v[1][t.value] = start;
    });
    unroll<0, kQuads>([&](auto i) TOCCATA_LAMBDA {
      constexpr int quad = kQuads == 8 ? interleaved(i.value) : 4 * f.value + i.value;
      add_quad<W, kTokens, quad>(codes, a, act_stride, part);
    });
    for_each<kTokens>([&](auto h, auto t) TOCCATA_LAMBDA {
      const __m256i scale = _mm256_srai_epi32(factors[h.value][f.value], 16);
      const __m256i scaled = _mm256_mullo_epi32(part.v[h.value][t.value], scale);
      __m256i& s = sum.v[h.value][t.value];
      s = f.value == 0 ? scaled : _mm256_add_epi32(s, scaled);
    });
    keep_in_memory(sum);
  });
}

// acc += one run of a block, the scales and minima included. act: the run's record of the first token.
template <class W, int kTokens, bool kOdd>
TOCCATA_INLINE void add_run(const uint8_t* block, int run, const uint8_t* act, size_t act_stride,
                            FloatSums<kTokens>& acc) {
  using T = typename W::T;
  const uint8_t* const codes[2] = {W::codes(block, run, 0), W::codes(block, run, 1)};
  IntSums<kTokens> sum;
  keep_in_memory(acc);
  if constexpr (T::kWide) {
    const auto* a = reinterpret_cast<const ActBlock16*>(act);
    if constexpr (T::kFactors > 0) {
      __m256i factors[2][2];
      W::template factors<kOdd>(block, run, 0, factors[0]);
      W::template factors<kOdd>(block, run, 1, factors[1]);
      add_wide_scaled<W, kTokens>(codes, factors, a, act_stride, sum);
    } else {
      add_wide<W, kTokens>(codes, a, act_stride, sum);
    }
  } else {
    const auto* a = reinterpret_cast<const ActBlock8*>(act);
    add_narrow<W, kTokens, 0>(codes, a, act_stride, sum);
    if constexpr (T::kQuads == 4) {
      keep_in_memory(sum);
      add_narrow<W, kTokens, 4>(codes, a, act_stride, sum);
    }
  }
  using Act = typename T::Act;
  const __m256 ds[2] = {W::template scale<kOdd>(block, run, 0), W::template scale<kOdd>(block, run, 1)};
  for_each<kTokens>([&](auto h, auto t) TOCCATA_LAMBDA {
    const auto* a = reinterpret_cast<const Act*>(act + t.value * act_stride);
    __m256& s = acc.v[h.value][t.value];
    const __m256 scale = _mm256_mul_ps(ds[h.value], broadcast_f32(&a->d));
    s = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(sum.v[h.value][t.value]), s);
  });
  unroll<0, T::kMins>([&](auto i) TOCCATA_LAMBDA {
    const __m256 dm[2] = {W::template min<kOdd, i.value>(block, run, 0), W::template min<kOdd, i.value>(block, run, 1)};
    for_each<kTokens>([&](auto h, auto t) TOCCATA_LAMBDA {
      const auto* a = reinterpret_cast<const Act*>(act + t.value * act_stride);
      __m256 token_sum;
      if constexpr (T::kWide) {
        const __m256i neg = broadcast4(a->neg_sum + i.value);
        token_sum =
            _mm256_mul_ps(broadcast_f32(&a->d), _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_setzero_si256(), neg)));
      } else {
        token_sum = broadcast_f32(&a->d_sum);
      }
      __m256& s = acc.v[h.value][t.value];
      s = _mm256_fmadd_ps(dm[h.value], token_sum, s);
    });
  });
}

}  // namespace
}  // namespace toccata::kernels::avx2
