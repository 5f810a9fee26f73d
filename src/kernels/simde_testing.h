// AVX-512 intrinsics in software, for tests on a CPU without them: included before every other line of the AVX-512
// units, it turns them into AVX2 code by SIMDe, in a namespace of its own (avx512 is defined as avx512_simde). What
// Debian 12's SIMDe lacks, or compiles for minutes, is added here, half a vector at a time.
#pragma once

#define SIMDE_ENABLE_NATIVE_ALIASES
#define SIMDE_NO_INLINE  // calls compile ten times faster
#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>
#include <simde/x86/fma.h>

#define TOCCATA_SIMDE_FUNCTION static __attribute__((noinline, unused))

TOCCATA_SIMDE_FUNCTION simde__m512i toccata_join(__m256i low, __m256i high) {
  simde__m512i_private r;
  r.m256i[0] = low;
  r.m256i[1] = high;
  return simde__m512i_from_private(r);
}
TOCCATA_SIMDE_FUNCTION simde__m512 toccata_join_ps(__m256 low, __m256 high) {
  return simde_mm512_castsi512_ps(toccata_join(_mm256_castps_si256(low), _mm256_castps_si256(high)));
}
TOCCATA_SIMDE_FUNCTION __m256i toccata_half(simde__m512i v, int i) { return simde__m512i_to_private(v).m256i[i]; }

// 16 or 32 narrow elements to wider ones.
TOCCATA_SIMDE_FUNCTION simde__m512 toccata_cvtph_ps(__m256i h) {
  return toccata_join_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(h)), _mm256_cvtph_ps(_mm256_extracti128_si256(h, 1)));
}
TOCCATA_SIMDE_FUNCTION simde__m512i toccata_cvtepu16_epi32(__m256i h) {
  return toccata_join(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(h)),
                      _mm256_cvtepu16_epi32(_mm256_extracti128_si256(h, 1)));
}
TOCCATA_SIMDE_FUNCTION simde__m512i toccata_cvtepu8_epi16(__m256i h) {
  return toccata_join(_mm256_cvtepu8_epi16(_mm256_castsi256_si128(h)),
                      _mm256_cvtepu8_epi16(_mm256_extracti128_si256(h, 1)));
}
TOCCATA_SIMDE_FUNCTION simde__m512i toccata_cvtepi8_epi32(__m128i b) {
  return toccata_join(_mm256_cvtepi8_epi32(b), _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(b, b)));
}

TOCCATA_SIMDE_FUNCTION simde__m512 toccata_cvtepi32_ps(simde__m512i v) {
  return toccata_join_ps(_mm256_cvtepi32_ps(toccata_half(v, 0)), _mm256_cvtepi32_ps(toccata_half(v, 1)));
}
TOCCATA_SIMDE_FUNCTION simde__m512i toccata_srai_epi32(simde__m512i v, int n) {
  return toccata_join(_mm256_srai_epi32(toccata_half(v, 0), n), _mm256_srai_epi32(toccata_half(v, 1), n));
}

// By Intel's descriptions: the products of four bytes, or two words, and the dword of src are added modulo 2^32.
TOCCATA_SIMDE_FUNCTION __m256i toccata_dpwssd(__m256i src, __m256i a, __m256i b) {
  return _mm256_add_epi32(src, _mm256_madd_epi16(a, b));
}
// a: unsigned, b: signed bytes. A product has 17 bits, so the sums of two that vpmaddwd takes are exact.
TOCCATA_SIMDE_FUNCTION __m256i toccata_dpbusd(__m256i src, __m256i a, __m256i b) {
  const __m256i even =
      _mm256_madd_epi16(_mm256_and_si256(a, _mm256_set1_epi16(0xff)), _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8));
  const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(a, 8), _mm256_srai_epi16(b, 8));
  return _mm256_add_epi32(src, _mm256_add_epi32(even, odd));
}
TOCCATA_SIMDE_FUNCTION simde__m512i toccata_dpbusd_epi32(simde__m512i src, simde__m512i a, simde__m512i b) {
  return toccata_join(toccata_dpbusd(toccata_half(src, 0), toccata_half(a, 0), toccata_half(b, 0)),
                      toccata_dpbusd(toccata_half(src, 1), toccata_half(a, 1), toccata_half(b, 1)));
}
TOCCATA_SIMDE_FUNCTION simde__m512i toccata_dpwssd_epi32(simde__m512i src, simde__m512i a, simde__m512i b) {
  return toccata_join(toccata_dpwssd(toccata_half(src, 0), toccata_half(a, 0), toccata_half(b, 0)),
                      toccata_dpwssd(toccata_half(src, 1), toccata_half(a, 1), toccata_half(b, 1)));
}

#define _mm512_cvtph_ps toccata_cvtph_ps
#define _mm512_cvtepu16_epi32 toccata_cvtepu16_epi32
#define _mm512_cvtepu8_epi16 toccata_cvtepu8_epi16
#define _mm512_cvtepi8_epi32 toccata_cvtepi8_epi32
#define _mm512_cvtepi32_ps toccata_cvtepi32_ps
#undef _mm512_srai_epi32
#define _mm512_srai_epi32 toccata_srai_epi32
#undef _mm512_dpbusd_epi32
#undef _mm512_dpwssd_epi32
#define _mm512_dpbusd_epi32 toccata_dpbusd_epi32
#define _mm512_dpwssd_epi32 toccata_dpwssd_epi32

// SIMDe's macros of these take the commas of template arguments for their own, or have four parameters.
#undef _mm512_or_si512
#undef _mm512_castps_si512
#undef _mm512_fmadd_ps
#undef _mm512_madd_epi16
#define _mm512_or_si512 simde_mm512_or_si512
#define _mm512_castps_si512 simde_mm512_castps_si512
#define _mm512_fmadd_ps simde_mm512_fmadd_ps
#define _mm512_madd_epi16 simde_mm512_madd_epi16
