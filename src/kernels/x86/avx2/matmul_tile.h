// Micro-kernels of the quantised formats: blocks of 32 and super-blocks of 256 elements, 16 rows, kTokens tokens.
#pragma once

#include "kernels/x86/avx2/matmul_run.h"

namespace toccata::kernels::avx2 {
namespace {

// acc += one block of 32. block and codes: W's scales and codes.
template <class W, class T, int kTokens>
TOCCATA_INLINE void add_block32(const uint8_t* block, const uint8_t* run, const uint8_t* act, size_t act_stride,
                                FloatSums<kTokens>& acc) {
  const auto* a = reinterpret_cast<const ActBlock32*>(act);
  const __m256i one[2] = {_mm256_set1_epi16(1), _mm256_set1_epi16(1)};
  IntSums<kTokens> sum;
  clear(sum);
  if constexpr (T::kSigned) {
    add_run_signed<W, kTokens>(run, a->q, nullptr, act_stride, one, sum);
  } else {
    add_run<W, T, kTokens, 0>(run, a->q, a->neg_pair_sum, nullptr, act_stride, one, sum);
    if constexpr (T::kQuads == 4) {
      add_run<W, T, kTokens, 4>(run, a->q, a->neg_pair_sum, nullptr, act_stride, one, sum);
    }
  }
  const __m256 d[2] = {W::scale(block, 0), W::scale(block, 1)};
  __m256 m[2] = {d[0], d[1]};
  if constexpr (T::kMin) m[0] = W::min(block, 0), m[1] = W::min(block, 1);
  for_each<kTokens>([&](auto h, auto t) TOCCATA_LAMBDA {
    const auto* at = reinterpret_cast<const ActBlock32*>(act + t.value * act_stride);
    __m256& s = acc.v[h.value][t.value];
    const __m256 scale = _mm256_mul_ps(d[h.value], broadcast_f32(&at->d));
    s = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(sum.v[h.value][t.value]), s);
    if constexpr (T::kMin) s = _mm256_fmadd_ps(m[h.value], broadcast_f32(&at->d_sum), s);
  });
}

// acc -= the minimum term of a super-block.
template <class W, class T, int kTokens>
TOCCATA_INLINE void subtract_mins(const uint8_t* block, const uint8_t* act, size_t act_stride,
                                  FloatSums<kTokens>& acc) {
  constexpr int kSubs = T::kLayout.subs;
  const auto* a = reinterpret_cast<const ActBlock256*>(act);
  const int16_t* sums = kSubs == 16 ? a->sum16 : a->sum32;
  IntSums<kTokens> msum;
  clear(msum);
  unroll<0, kSubs / 2>([&](auto pair) TOCCATA_LAMBDA {
    const __m256i mins[2] = {W::sub_min(block, 0, pair.value), W::sub_min(block, 1, pair.value)};
    for_each<kTokens>([&](auto h, auto t) TOCCATA_LAMBDA {
      __m256i& s = msum.v[h.value][t.value];
      const __m256i token_sums = broadcast4(of_token(sums + 2 * pair.value, t.value, act_stride));
      s = _mm256_add_epi32(s, _mm256_madd_epi16(mins[h.value], token_sums));
      pin(s);
    });
  });
  const __m256 m[2] = {W::min(block, 0), W::min(block, 1)};
  for_each<kTokens>([&](auto h, auto t) TOCCATA_LAMBDA {
    const auto* at = reinterpret_cast<const ActBlock256*>(act + t.value * act_stride);
    __m256& s = acc.v[h.value][t.value];
    const __m256 scale = _mm256_mul_ps(m[h.value], broadcast_f32(&at->d));
    s = _mm256_fnmadd_ps(scale, _mm256_cvtepi32_ps(msum.v[h.value][t.value]), s);
  });
}

// sum += one run of 32 of a super-block. With 8 sub-blocks the run is sub-block `run`, with 16 it holds two.
template <class W, class T, int kTokens, bool kOdd>
TOCCATA_INLINE void add_run256(const uint8_t* block, const uint8_t* codes, const ActBlock256* a, int run,
                               size_t act_stride, IntSums<kTokens>& sum) {
  constexpr bool kTwo = T::kLayout.subs == 16;
  codes += run * W::kRunBytes;
  const int8_t* q = a->q + 32 * run;
  const int pair = kTwo ? run : run / 2;
  constexpr bool kFirstOdd = !kTwo && kOdd, kSecondOdd = kTwo || kOdd;
  keep_in_memory(sum);
  const __m256i first[2] = {W::template sub_scale<kFirstOdd>(block, 0, pair),
                            W::template sub_scale<kFirstOdd>(block, 1, pair)};
  if constexpr (T::kSigned) {
    add_run_signed<W, kTokens>(codes, q, a->step[run], act_stride, first, sum);
  } else {
    add_run<W, T, kTokens, 0>(codes, q, a->neg_pair_sum[2 * run], a->step[run], act_stride, first, sum);
    if constexpr (T::kQuads == 4) {
      keep_in_memory(sum);
      const __m256i second[2] = {W::template sub_scale<kSecondOdd>(block, 0, pair),
                                 W::template sub_scale<kSecondOdd>(block, 1, pair)};
      add_run<W, T, kTokens, 4>(codes, q, a->neg_pair_sum[2 * run + 1], a->step[run], act_stride, second, sum);
    }
  }
}

// acc += one super-block of 256.
template <class W, class T, int kTokens>
TOCCATA_INLINE void add_block256(const uint8_t* block, const uint8_t* codes, const uint8_t* act, size_t act_stride,
                                 FloatSums<kTokens>& acc) {
  const auto* a = reinterpret_cast<const ActBlock256*>(act);
  IntSums<kTokens> sum;
  clear(sum);
  for (int run = 0; run < 8; run += 2) {
    add_run256<W, T, kTokens, false>(block, codes, a, run, act_stride, sum);
    add_run256<W, T, kTokens, true>(block, codes, a, run + 1, act_stride, sum);
  }
  keep_in_memory(sum);
  const __m256 d[2] = {W::scale(block, 0), W::scale(block, 1)};
  for_each<kTokens>([&](auto h, auto t) TOCCATA_LAMBDA {
    const auto* at = reinterpret_cast<const ActBlock256*>(act + t.value * act_stride);
    __m256& s = acc.v[h.value][t.value];
    const __m256 scale = _mm256_mul_ps(d[h.value], broadcast_f32(&at->d));
    s = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(sum.v[h.value][t.value]), s);
  });
  if constexpr (T::kMin) subtract_mins<W, T, kTokens>(block, act, act_stride, acc);
}

}  // namespace
}  // namespace toccata::kernels::avx2
