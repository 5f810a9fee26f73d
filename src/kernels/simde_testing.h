// AVX-512 intrinsics in software, for tests on a CPU without them: included before every other line of the AVX-512
// units, it turns them into AVX2 code by SIMDe, in a namespace of its own (avx512 is defined as avx512_simde). What
// Debian 12's SIMDe lacks is added here.
#pragma once

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>
#include <simde/x86/fma.h>

static inline simde__m512 toccata_join_ps(__m256 low, __m256 high) {
  return simde_mm512_insertf32x8(simde_mm512_castps256_ps512(low), high, 1);
}

#define _mm512_cvtph_ps(h) \
  toccata_join_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(h)), _mm256_cvtph_ps(_mm256_extracti128_si256(h, 1)))

#define _mm512_cvtepu16_epi32(h)                                                             \
  simde_mm512_castps_si512(                                                                  \
      toccata_join_ps(_mm256_castsi256_ps(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(h))), \
                      _mm256_castsi256_ps(_mm256_cvtepu16_epi32(_mm256_extracti128_si256(h, 1)))))
