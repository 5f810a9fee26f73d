// Quantisation of activations by 256-bit vectors, for every set from AVX2 on: a row is quantised once for thousands of
// products, so wider vectors would gain nothing. The rules are those of generic/matmul.cc.
#pragma once

#include <string.h>

#include "kernels/act_layout.h"
#include "kernels/matmul.h"
#include "kernels/x86/loads.h"

namespace toccata::kernels {
namespace {

// Largest magnitude of 32 floats in each lane, compared as integers (see generic/matmul.cc).
TOCCATA_INLINE __m256i max_magnitude(const float* x) {
  const __m256i mask = _mm256_set1_epi32(0x7fffffff);
  __m256i best = _mm256_setzero_si256();
  for (int i = 0; i < 32; i += 8) best = _mm256_max_epi32(best, _mm256_and_si256(load256(x + i), mask));
  return best;
}

TOCCATA_INLINE float max_lane(__m256i v) {
  __m128i m = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
  return _mm_cvtss_f32(_mm_castsi128_ps(m));
}

struct RunScale {
  float d, inv;
};

// !(a < tiny): a NaN takes the second way.
TOCCATA_INLINE RunScale run_scale(const float* x, float most) {
  const float amax = max_lane(max_magnitude(x));
  if (amax < kActTiny) return {0.0f, 0.0f};
  return {amax / most, most / amax};
}

TOCCATA_INLINE __m256i quantize8(const float* x, float inv, float most) {
  __m256 v = _mm256_mul_ps(_mm256_loadu_ps(x), _mm256_set1_ps(inv));
  v = _mm256_max_ps(v, _mm256_set1_ps(-most));
  v = _mm256_min_ps(v, _mm256_set1_ps(most));
  return _mm256_cvtps_epi32(v);
}

TOCCATA_INLINE int low_dword(__m128i v) { return _mm_cvtsi128_si32(v); }

// 32 codes in order. The packs work within 128-bit lanes, so dwords come out as 0 2 4 6 1 3 5 7 of each register.
TOCCATA_INLINE __m256i quantize32(const float* x, float inv) {
  const __m256i lo = _mm256_packs_epi32(quantize8(x, inv, kActMax8), quantize8(x + 8, inv, kActMax8));
  const __m256i hi = _mm256_packs_epi32(quantize8(x + 16, inv, kActMax8), quantize8(x + 24, inv, kActMax8));
  return _mm256_permutevar8x32_epi32(_mm256_packs_epi16(lo, hi), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

void quantize_run(const float* x, ActBlock8& b) {
  const RunScale s = run_scale(x, kActMax8);
  const __m256i q = quantize32(x, s.inv);
  store256(b.q, q);
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), q);
  __m128i sums = _mm_add_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
  sums = _mm_add_epi16(sums, _mm_shuffle_epi32(sums, 0x4e));
  sums = _mm_add_epi16(sums, _mm_shuffle_epi32(sums, 0xb1));
  const int neg = low_dword(_mm_sub_epi16(_mm_setzero_si128(), sums)), both = low_dword(sums);
  memcpy(b.neg_pair_sum, &neg, sizeof(neg));
  b.d = s.d;
  b.d_sum = s.d * static_cast<float>(static_cast<int16_t>(both) + (both >> 16));
}

// 16 codes in the order of act16_index, and their sum.
TOCCATA_INLINE int quantize16(const float* x, float inv, int16_t* q) {
  const __m256i lo = quantize8(x, inv, kActMax16), hi = quantize8(x + 8, inv, kActMax16);
  __m256i v = _mm256_permute4x64_epi64(_mm256_packs_epi32(lo, hi), 0xd8);
  v = _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(v, 0xd8), 0xd8);
  store256(q, v);
  const __m256i s8 = _mm256_add_epi32(lo, hi);
  __m128i s = _mm_add_epi32(_mm256_castsi256_si128(s8), _mm256_extracti128_si256(s8, 1));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
  return low_dword(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

void quantize_run(const float* x, ActBlock16& b) {
  const RunScale s = run_scale(x, kActMax16);
  b.d = s.d;
  for (int h = 0; h < 2; ++h) b.neg_sum[h] = -quantize16(x + 16 * h, s.inv, b.q + 16 * h);
}

template <class Act>
void quantize_runs(const float* x, int64_t cols, std::byte* dst) {
  auto* b = reinterpret_cast<Act*>(dst);
  for (int64_t k = 0; k < cols; k += 32) quantize_run(x + k, *b++);
}

void quantize(ActKind kind, const float* x, int64_t cols, std::byte* dst) {
  switch (kind) {
    case ActKind::kF32:
      memcpy(dst, x, static_cast<size_t>(cols) * sizeof(float));
      return;
    case ActKind::kQ8:
      return quantize_runs<ActBlock8>(x, cols, dst);
    case ActKind::kQ16:
      return quantize_runs<ActBlock16>(x, cols, dst);
  }
}

}  // namespace
}  // namespace toccata::kernels
