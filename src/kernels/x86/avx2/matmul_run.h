// The inner loops of the quantised formats: a run of 32 elements, the 16 rows of a group, kTokens activation rows.
//
// Codes are unsigned bytes u = value + c of at most 6 bits. For a run of elements that share a scale, each int16 lane
// starts at -c times the sum of its own activations (the two pair sums of act_layout.h, shifted), then adds one
// vpmaddubsw per quad. Additions wrap modulo 2^16, and the true final sum, of the centred values, fits int16 (the
// bounds stand in matmul_codes.h), so the result is exact whatever happens in between. One vpmaddwd then widens it
// and multiplies by the sub-block scale, or by one. Compared with widening each quad this halves the instructions.
//
// Signed codes of 8 bits (Q8_0, IQ4): vpmaddubsw(|w|, sign(a, w)), widened at once: 2*128*127 = 32,512 fits.
//
// Registers: 4 tokens take 8 lane sums, 2 weight vectors, a broadcast and two products. A quad then costs 6 loads for
// 16 products and additions, which the two load ports keep up with. What is needed once per run lives in memory.
#pragma once

#include "kernels/act_layout.h"
#include "kernels/x86/avx2/matmul_codes.h"

namespace toccata::kernels::avx2 {
namespace {

template <int kValue>
struct Int {
  static constexpr int value = kValue;
};

// body(Int<kBegin>) ... body(Int<kEnd - 1>), unrolled.
template <int kBegin, int kEnd, class Body>
TOCCATA_INLINE void unroll(Body&& body) {
  if constexpr (kBegin < kEnd) {
    body(Int<kBegin>{});
    unroll<kBegin + 1, kEnd>(body);
  }
}

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

// The factor of a run's sums: the weights' scale, times the token's step where there is one (null: none).
TOCCATA_INLINE __m256i run_factor(__m256i scale, const int16_t* step, int t, size_t act_stride) {
  if (step == nullptr) return scale;
  return _mm256_mullo_epi16(scale, broadcast4(of_token(step, t, act_stride)));
}

// sum += scale * step * (kQuads quads from kFirst of the run). neg_sums, step: see act_layout.h.
template <class W, class T, int kTokens, int kFirst>
TOCCATA_INLINE void add_run(const uint8_t* run, const int8_t* q, const int16_t* neg_sums, const int16_t* step,
                            size_t act_stride, const __m256i (&scale)[2], IntSums<kTokens>& sum) {
  IntSums<kTokens> lane;
  unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA {
    __m256i start = _mm256_setzero_si256();
    if constexpr (T::kCentre > 0) {
      start = _mm256_slli_epi16(broadcast4(of_token(neg_sums, t.value, act_stride)), T::kCentre);
    }
    lane.v[0][t.value] = lane.v[1][t.value] = start;
  });
  unroll<0, T::kQuads>([&](auto i) TOCCATA_LAMBDA {
    // With 8 quads in 4-bit vectors: 0, 4, 1, 5, ... so that both nibbles of a vector are used together.
    constexpr int quad = T::kQuads == 8 ? i.value / 2 + i.value % 2 * 4 : kFirst + i.value;
    __m256i w[2] = {W::template quad<quad>(run), W::template quad<quad>(run + 32)};
    pin(w[0]), pin(w[1]);
    unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA {
      const __m256i a = broadcast4(of_token(q + 4 * quad, t.value, act_stride));
      for (int h = 0; h < 2; ++h) {
        lane.v[h][t.value] = _mm256_add_epi16(lane.v[h][t.value], _mm256_maddubs_epi16(w[h], a));
        pin(lane.v[h][t.value]);
      }
    });
  });
  for_each<kTokens>([&](auto h, auto t) TOCCATA_LAMBDA {
    const __m256i factor = run_factor(scale[h.value], step, t.value, act_stride);
    __m256i& s = sum.v[h.value][t.value];
    s = _mm256_add_epi32(s, _mm256_madd_epi16(lane.v[h.value][t.value], factor));
    pin(s);
  });
}

// The same for signed codes, all 8 quads.
template <class W, int kTokens>
TOCCATA_INLINE void add_run_signed(const uint8_t* run, const int8_t* q, const int16_t* step, size_t act_stride,
                                   const __m256i (&scale)[2], IntSums<kTokens>& sum) {
  unroll<0, 8>([&](auto i) TOCCATA_LAMBDA {
    constexpr int quad = i.value / 2 + i.value % 2 * 4;
    __m256i w[2] = {W::template quad<quad>(run), W::template quad<quad>(run + 32)};
    pin(w[0]), pin(w[1]);
    __m256i magnitude[2] = {_mm256_abs_epi8(w[0]), _mm256_abs_epi8(w[1])};
    pin(magnitude[0]), pin(magnitude[1]);
    unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA {
      const __m256i a = broadcast4(of_token(q + 4 * quad, t.value, act_stride));
      for (int h = 0; h < 2; ++h) {
        const __m256i pairs = _mm256_maddubs_epi16(magnitude[h], _mm256_sign_epi8(a, w[h]));
        const __m256i factor = run_factor(scale[h], step, t.value, act_stride);
        sum.v[h][t.value] = _mm256_add_epi32(sum.v[h][t.value], _mm256_madd_epi16(pairs, factor));
        pin(sum.v[h][t.value]);
      }
    });
  });
}

template <int kTokens>
TOCCATA_INLINE void clear(IntSums<kTokens>& sum) {
  for_each<kTokens>([&](auto h, auto t) TOCCATA_LAMBDA { sum.v[h.value][t.value] = _mm256_setzero_si256(); });
}

}  // namespace
}  // namespace toccata::kernels::avx2
