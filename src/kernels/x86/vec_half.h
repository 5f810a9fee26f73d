// Conversions of 8 values, and the codes of a quantised cache as bytes, that all x86 instruction sets from AVX2 on
// share.
#pragma once

#include <immintrin.h>

#include "kernels/x86/vec_math.h"
#include "tensor/dtype.h"

namespace toccata::kernels {
namespace {

TOCCATA_INLINE __m256 widen8(const std::byte* base, size_t index, DType type) {
  if (type == DType::kF32) return _mm256_loadu_ps(reinterpret_cast<const float*>(base) + index);
  const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(base + 2 * index));
  if (type == DType::kF16) return _mm256_cvtph_ps(h);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}

// Rounds to nearest even; a NaN becomes quiet and keeps its upper payload (f32_to_bf16 in tensor/half.cc).
TOCCATA_INLINE __m128i bf16_from_f32(__m256 f) {
  const __m256i bits = _mm256_castps_si256(f);
  const __m256i high = _mm256_srli_epi32(bits, 16);
  const __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
  const __m256i bias = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
  const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, bias), 16);
  const __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(f, f, _CMP_UNORD_Q));
  const __m256i half = _mm256_blendv_epi8(rounded, quiet, nan);
  return _mm_packus_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

// 8 values of a 2-byte type.
TOCCATA_INLINE __m128i narrow8(__m256 f, DType type) {
  if (type == DType::kBF16) return bf16_from_f32(f);
  return _mm256_cvtps_ph(f, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// 16 codes of a quantised cache (kernels/kv_layout.h) as signed bytes; kHigh: the upper nibbles.
template <DType T, bool kHigh>
TOCCATA_INLINE __m128i codes16(const std::byte* base) {
  const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(base));
  if constexpr (T == DType::kQ8_0) return v;
  const __m128i nibbles = _mm_and_si128(kHigh ? _mm_srli_epi16(v, 4) : v, _mm_set1_epi8(15));
  return _mm_sub_epi8(nibbles, _mm_set1_epi8(8));
}
// The last 8 channels of a head size that is no multiple of 16; nothing beyond them is read. Nibbles are stored whole.
template <DType T, bool kHigh>
TOCCATA_INLINE __m128i codes8(const std::byte* base) {
  if constexpr (T == DType::kQ8_0) return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(base));
  return codes16<T, kHigh>(base);
}
TOCCATA_INLINE uint16_t load_half(const std::byte* p) {
  uint16_t h;
  __builtin_memcpy(&h, p, sizeof(h));
  return h;
}

}  // namespace
}  // namespace toccata::kernels
