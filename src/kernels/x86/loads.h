// Unaligned loads and stores of bytes that all x86 instruction sets from AVX2 on share.
#pragma once

#include <immintrin.h>

#include "kernels/x86/inline.h"

namespace toccata::kernels {
namespace {

TOCCATA_INLINE __m128i load128(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
TOCCATA_INLINE __m256i load256(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
TOCCATA_INLINE void store256(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
TOCCATA_INLINE void store256(void* p, __m256 v) { store256(p, _mm256_castps_si256(v)); }
TOCCATA_INLINE int load_dword(const void* p) {
  int v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}

}  // namespace
}  // namespace toccata::kernels
