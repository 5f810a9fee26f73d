// The sum of exponentials of a row in f64: 16 lanes as four vectors of four. The AVX-512 set uses it as it is: a row of
// logits is summed once per token, if at all.
#pragma once

#include <immintrin.h>

#include "kernels/exp2.h"
#include "kernels/vec.h"
#include "kernels/x86/inline.h"

namespace toccata::kernels {
namespace {

// kernels/generic/vec_math.h: exp64
TOCCATA_INLINE __m256d exp64(__m256d t) {
  t = _mm256_max_pd(t, _mm256_set1_pd(kExpLow64));
  const __m256d z = _mm256_fmadd_pd(t, _mm256_set1_pd(kLog2E64), _mm256_set1_pd(kExpMagic64));
  const __m256d n = _mm256_sub_pd(z, _mm256_set1_pd(kExpMagic64));
  const __m256d r = _mm256_fmadd_pd(n, _mm256_set1_pd(-kLn2Low64), _mm256_fmadd_pd(n, _mm256_set1_pd(-kLn2High64), t));
  __m256d p = _mm256_set1_pd(kExpTaylor64[0]);
  unroll<1, kExpTerms64>(
      [&](auto i) TOCCATA_LAMBDA { p = _mm256_fmadd_pd(p, r, _mm256_set1_pd(kExpTaylor64[decltype(i)::value])); });
  return _mm256_castsi256_pd(_mm256_add_epi64(_mm256_castpd_si256(p), _mm256_slli_epi64(_mm256_castpd_si256(z), 52)));
}

// exp((x - shift) * scale) of four
TOCCATA_INLINE __m256d exp_terms(const float* x, __m256d shift, __m256d scale) {
  return exp64(_mm256_mul_pd(_mm256_sub_pd(_mm256_cvtps_pd(_mm_loadu_ps(x)), shift), scale));
}

double exp_sum(const float* x, int64_t n, double shift, double scale) {
  const __m256d shifts = _mm256_set1_pd(shift), scales = _mm256_set1_pd(scale);
  __m256d lanes[4] = {};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    unroll<0, 4>([&](auto j) TOCCATA_LAMBDA {
      constexpr int kPart = decltype(j)::value;
      lanes[kPart] = _mm256_add_pd(lanes[kPart], exp_terms(x + i + 4 * kPart, shifts, scales));
    });
  }
  alignas(32) double lane[16], term[16];
  alignas(16) float rest[16] = {};
  for (int64_t j = 0; j < n - i; ++j) rest[j] = x[i + j];
  for (int j = 0; j < 4; ++j) {
    _mm256_store_pd(lane + 4 * j, lanes[j]);
    _mm256_store_pd(term + 4 * j, exp_terms(rest + 4 * j, shifts, scales));
  }
  for (int64_t j = 0; j < n - i; ++j) lane[j] += term[j];
  for (int step = 8; step > 0; step /= 2) {
    for (int j = 0; j < step; ++j) lane[j] += lane[j + step];
  }
  return lane[0];
}

}  // namespace
}  // namespace toccata::kernels
