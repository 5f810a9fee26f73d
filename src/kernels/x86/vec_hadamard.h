// The Walsh-Hadamard transform for all x86 instruction sets; kernels/generic/vec.cc is the reference.
#pragma once

#include <immintrin.h>

#include "kernels/x86/inline.h"

namespace toccata::kernels {
namespace {

// Distances 1, 2 and 4 within 8 lanes: the partner plus the value itself, whose sign is turned in the upper half of
// each pair (b + -a is rounded as a - b is, turned round: partner - value).
TOCCATA_INLINE __m256 hadamard8(__m256 v) {
  const auto step = [](__m256 value, __m256 partner, int minus_lanes) TOCCATA_LAMBDA {
    const __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i minus = _mm256_cmpeq_epi32(_mm256_and_si256(lane, _mm256_set1_epi32(minus_lanes)), lane);
    const __m256 sign = _mm256_castsi256_ps(_mm256_slli_epi32(minus, 31));
    return _mm256_add_ps(partner, _mm256_xor_ps(value, sign));
  };
  v = step(v, _mm256_permute_ps(v, 0xb1), 0xaa);
  v = step(v, _mm256_permute_ps(v, 0x4e), 0xcc);
  return step(v, _mm256_permute2f128_ps(v, v, 1), 0xf0);
}

inline void hadamard(float* x, int64_t count, int64_t size) {
  const __m256 factor = _mm256_set1_ps(static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(size))));
  for (int64_t c = 0; c < count; ++c, x += size) {
    for (int64_t i = 0; i < size; i += 8) _mm256_storeu_ps(x + i, hadamard8(_mm256_loadu_ps(x + i)));
    for (int64_t h = 8; h < size; h *= 2) {
      for (int64_t begin = 0; begin < size; begin += 2 * h) {
        for (float* p = x + begin; p < x + begin + h; p += 8) {
          const __m256 a = _mm256_loadu_ps(p), b = _mm256_loadu_ps(p + h);
          _mm256_storeu_ps(p, _mm256_add_ps(a, b));
          _mm256_storeu_ps(p + h, _mm256_sub_ps(a, b));
        }
      }
    }
    for (int64_t i = 0; i < size; i += 8) _mm256_storeu_ps(x + i, _mm256_mul_ps(_mm256_loadu_ps(x + i), factor));
  }
}

}  // namespace
}  // namespace toccata::kernels
