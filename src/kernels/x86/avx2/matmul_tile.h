// Micro-kernels of the quantised formats: kHalves * 8 rows of a group times kTokens activation rows.
//
// Codes are unsigned bytes u = value + c of at most 6 bits. For a run of elements that share a scale, each int16 lane
// starts at -c times the sum of its own activations (the two pair sums of act_layout.h, shifted), then adds one
// vpmaddubsw per quad. Additions wrap modulo 2^16, and the true final sum, of the centred values, fits int16 (the
// bounds stand in matmul_codes.h), so the result is exact whatever happens in between. One vpmaddwd then widens it
// and multiplies by the sub-block scale, or by one. Compared with widening each quad this halves the instructions.
//
// Signed codes of 8 bits (Q8_0, IQ4): vpmaddubsw(|w|, sign(a, w)), widened at once: 2*128*127 = 32,512 fits.
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

// The factor of a run's sums: the weights' scale, times the token's step where there is one (null: none).
TOCCATA_INLINE __m256i run_factor(__m256i scale, const int16_t* step, size_t offset) {
  if (step == nullptr) return scale;
  return _mm256_mullo_epi16(scale, broadcast4(reinterpret_cast<const uint8_t*>(step) + offset));
}

// sum[h][t] += scale[h] * step[t] * (kQuads quads from kFirst of the run). neg_sums, step: see act_layout.h.
template <class W, class T, int kHalves, int kTokens, int kFirst>
TOCCATA_INLINE void add_run(const uint8_t* run, const int8_t* q, const int16_t* neg_sums, const int16_t* step,
                            size_t act_stride, const __m256i* scale, __m256i (*sum)[kTokens]) {
  __m256i lane[kHalves][kTokens];
  unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA {
    __m256i start = _mm256_setzero_si256();
    if constexpr (T::kCentre > 0) {
      start = _mm256_slli_epi16(broadcast4(reinterpret_cast<const uint8_t*>(neg_sums) + t.value * act_stride), T::kCentre);
    }
    unroll<0, kHalves>([&](auto h) TOCCATA_LAMBDA { lane[h.value][t.value] = start; });
  });
  unroll<0, T::kQuads>([&](auto i) TOCCATA_LAMBDA {
    // With 8 quads in 4-bit vectors: 0, 4, 1, 5, ... so that both nibbles of a vector are used together.
    constexpr int quad = T::kQuads == 8 ? i.value / 2 + i.value % 2 * 4 : kFirst + i.value;
    __m256i w[kHalves];
    unroll<0, kHalves>([&](auto h) TOCCATA_LAMBDA { w[h.value] = W::template quad<quad>(run + 32 * h.value); });
    unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA {
      const __m256i a = broadcast4(q + 4 * quad + t.value * act_stride);
      unroll<0, kHalves>([&](auto h) TOCCATA_LAMBDA {
        __m256i& l = lane[h.value][t.value];
        l = _mm256_add_epi16(l, _mm256_maddubs_epi16(w[h.value], a));
      });
    });
  });
  unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA {
    unroll<0, kHalves>([&](auto h) TOCCATA_LAMBDA {
      __m256i& s = sum[h.value][t.value];
      const __m256i factor = run_factor(scale[h.value], step, t.value * act_stride);
      s = _mm256_add_epi32(s, _mm256_madd_epi16(lane[h.value][t.value], factor));
    });
  });
}

// The same for signed codes, all 8 quads.
template <class W, int kHalves, int kTokens>
TOCCATA_INLINE void add_run_signed(const uint8_t* run, const int8_t* q, const int16_t* step, size_t act_stride,
                                   const __m256i* scale, __m256i (*sum)[kTokens]) {
  unroll<0, 8>([&](auto i) TOCCATA_LAMBDA {
    constexpr int quad = i.value / 2 + i.value % 2 * 4;
    __m256i w[kHalves], magnitude[kHalves];
    unroll<0, kHalves>([&](auto h) TOCCATA_LAMBDA {
      w[h.value] = W::template quad<quad>(run + 32 * h.value);
      magnitude[h.value] = _mm256_abs_epi8(w[h.value]);
    });
    unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA {
      const __m256i a = broadcast4(q + 4 * quad + t.value * act_stride);
      unroll<0, kHalves>([&](auto h) TOCCATA_LAMBDA {
        const __m256i pairs = _mm256_maddubs_epi16(magnitude[h.value], _mm256_sign_epi8(a, w[h.value]));
        __m256i& s = sum[h.value][t.value];
        s = _mm256_add_epi32(s, _mm256_madd_epi16(pairs, run_factor(scale[h.value], step, t.value * act_stride)));
      });
    });
  });
}

// acc[h][t] += one block of 32. block and codes: W's scales and codes, offset to the first half.
template <class W, class T, int kHalves, int kTokens>
TOCCATA_INLINE void add_block32(const uint8_t* block, const uint8_t* run, const uint8_t* act, size_t act_stride,
                                __m256 (*acc)[kTokens]) {
  const auto* a = reinterpret_cast<const ActBlock32*>(act);
  __m256i sum[kHalves][kTokens], one[kHalves];
  unroll<0, kHalves>([&](auto h) TOCCATA_LAMBDA {
    one[h.value] = _mm256_set1_epi16(1);
    unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA { sum[h.value][t.value] = _mm256_setzero_si256(); });
  });
  if constexpr (T::kSigned) {
    add_run_signed<W, kHalves, kTokens>(run, a->q, nullptr, act_stride, one, sum);
  } else {
    add_run<W, T, kHalves, kTokens, 0>(run, a->q, a->neg_pair_sum, nullptr, act_stride, one, sum);
    if constexpr (T::kQuads == 4) {
      add_run<W, T, kHalves, kTokens, 4>(run, a->q, a->neg_pair_sum, nullptr, act_stride, one, sum);
    }
  }
  unroll<0, kHalves>([&](auto h) TOCCATA_LAMBDA {
    const __m256 d = W::scale(block, h.value);
    __m256 m;
    if constexpr (T::kMin) m = W::min(block, h.value);
    unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA {
      const auto* at = reinterpret_cast<const ActBlock32*>(act + t.value * act_stride);
      __m256& s = acc[h.value][t.value];
      s = _mm256_fmadd_ps(_mm256_mul_ps(d, broadcast_f32(&at->d)), _mm256_cvtepi32_ps(sum[h.value][t.value]), s);
      if constexpr (T::kMin) s = _mm256_fmadd_ps(m, broadcast_f32(&at->d_sum), s);
    });
  });
}

// acc[h][t] -= the minimum term of a super-block.
template <class W, class T, int kHalves, int kTokens>
TOCCATA_INLINE void subtract_mins(const uint8_t* block, const uint8_t* act, size_t act_stride,
                                  __m256 (*acc)[kTokens]) {
  constexpr int kSubs = T::kLayout.subs;
  unroll<0, kHalves>([&](auto h) TOCCATA_LAMBDA {
    __m256i msum[kTokens];
    unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA { msum[t.value] = _mm256_setzero_si256(); });
    unroll<0, kSubs / 2>([&](auto pair) TOCCATA_LAMBDA {
      const __m256i mins = W::sub_min(block, h.value, pair.value);
      unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA {
        const auto* at = reinterpret_cast<const ActBlock256*>(act + t.value * act_stride);
        const int16_t* sums = kSubs == 16 ? at->sum16 : at->sum32;
        msum[t.value] = _mm256_add_epi32(msum[t.value], _mm256_madd_epi16(mins, broadcast4(sums + 2 * pair.value)));
      });
    });
    const __m256 m = W::min(block, h.value);
    unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA {
      const auto* at = reinterpret_cast<const ActBlock256*>(act + t.value * act_stride);
      __m256& s = acc[h.value][t.value];
      s = _mm256_fnmadd_ps(_mm256_mul_ps(m, broadcast_f32(&at->d)), _mm256_cvtepi32_ps(msum[t.value]), s);
    });
  });
}

// sum += one run of 32 of a super-block. With 8 sub-blocks the run is sub-block `run`, with 16 it holds two.
template <class W, class T, int kHalves, int kTokens, bool kOdd>
TOCCATA_INLINE void add_run256(const uint8_t* block, const uint8_t* codes, const ActBlock256* a, int run,
                               size_t act_stride, __m256i (*sum)[kTokens]) {
  codes += run * W::kRunBytes;
  const int8_t* q = a->q + 32 * run;
  __m256i first[kHalves], second[kHalves];
  unroll<0, kHalves>([&](auto h) TOCCATA_LAMBDA {
    if constexpr (T::kLayout.subs == 16) {
      first[h.value] = W::template sub_scale<false>(block, h.value, run);
      second[h.value] = W::template sub_scale<true>(block, h.value, run);
    } else {
      first[h.value] = second[h.value] = W::template sub_scale<kOdd>(block, h.value, run / 2);
    }
  });
  if constexpr (T::kSigned) {
    add_run_signed<W, kHalves, kTokens>(codes, q, a->step[run], act_stride, first, sum);
  } else {
    add_run<W, T, kHalves, kTokens, 0>(codes, q, a->neg_pair_sum[2 * run], a->step[run], act_stride, first, sum);
    if constexpr (T::kQuads == 4) {
      add_run<W, T, kHalves, kTokens, 4>(codes, q, a->neg_pair_sum[2 * run + 1], a->step[run], act_stride, second, sum);
    }
  }
}

// acc[h][t] += one super-block of 256.
template <class W, class T, int kHalves, int kTokens>
TOCCATA_INLINE void add_block256(const uint8_t* block, const uint8_t* codes, const uint8_t* act, size_t act_stride,
                                 __m256 (*acc)[kTokens]) {
  const auto* a = reinterpret_cast<const ActBlock256*>(act);
  __m256i sum[kHalves][kTokens];
  unroll<0, kHalves>([&](auto h) TOCCATA_LAMBDA {
    unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA { sum[h.value][t.value] = _mm256_setzero_si256(); });
  });
  for (int run = 0; run < 8; run += 2) {
    add_run256<W, T, kHalves, kTokens, false>(block, codes, a, run, act_stride, sum);
    add_run256<W, T, kHalves, kTokens, true>(block, codes, a, run + 1, act_stride, sum);
  }
  unroll<0, kHalves>([&](auto h) TOCCATA_LAMBDA {
    const __m256 d = W::scale(block, h.value);
    unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA {
      const auto* at = reinterpret_cast<const ActBlock256*>(act + t.value * act_stride);
      __m256& s = acc[h.value][t.value];
      s = _mm256_fmadd_ps(_mm256_mul_ps(d, broadcast_f32(&at->d)), _mm256_cvtepi32_ps(sum[h.value][t.value]), s);
    });
  });
  if constexpr (T::kMin) subtract_mins<W, T, kHalves, kTokens>(block, act, act_stride, acc);
}

}  // namespace
}  // namespace toccata::kernels::avx2
