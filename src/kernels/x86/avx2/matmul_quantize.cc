// Quantisation of activations; the rules are those of generic/matmul.cc.
#include <string.h>

#include "kernels/act_layout.h"
#include "kernels/x86/avx2/matmul_codes.h"
#include "kernels/x86/avx2/matmul_types.h"

namespace toccata::kernels::avx2 {
namespace {

// Largest magnitude of 32 floats in each lane, compared as integers (see generic/matmul.cc).
TOCCATA_INLINE __m256i max_magnitude(const float* x, __m256i best) {
  const __m256i mask = _mm256_set1_epi32(0x7fffffff);
  for (int i = 0; i < 32; i += 8) best = _mm256_max_epi32(best, _mm256_and_si256(load256(x + i), mask));
  return best;
}

TOCCATA_INLINE float max_lane(__m256i v) {
  __m128i m = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
  return _mm_cvtss_f32(_mm_castsi128_ps(m));
}

struct BlockScale {
  float d, inv;
};

// !(a < tiny): a NaN takes the second way.
TOCCATA_INLINE BlockScale block_scale(float amax) {
  if (amax < kActTiny) return {0.0f, 0.0f};
  return {amax / 127.0f, 127.0f / amax};
}

TOCCATA_INLINE __m256i quantize8(const float* x, __m256 inv) {
  __m256 v = _mm256_mul_ps(_mm256_loadu_ps(x), inv);
  v = _mm256_max_ps(v, _mm256_set1_ps(-127.0f));
  v = _mm256_min_ps(v, _mm256_set1_ps(127.0f));
  return _mm256_cvtps_epi32(v);
}

// 32 codes in order. The packs work within 128-bit lanes, so dwords come out as 0 2 4 6 1 3 5 7 of each register.
TOCCATA_INLINE __m256i quantize32(const float* x, __m256 inv) {
  const __m256i lo = _mm256_packs_epi32(quantize8(x, inv), quantize8(x + 8, inv));
  const __m256i hi = _mm256_packs_epi32(quantize8(x + 16, inv), quantize8(x + 24, inv));
  return _mm256_permutevar8x32_epi32(_mm256_packs_epi16(lo, hi), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

// Pair sums (act_layout.h, not negated) of both halves of 16 codes, in dword 0 of each 128-bit lane.
TOCCATA_INLINE __m256i pair_sums16(__m256i q) {
  __m256i s = _mm256_maddubs_epi16(_mm256_set1_epi8(1), q);
  s = _mm256_add_epi16(s, _mm256_shuffle_epi32(s, 0x4e));
  return _mm256_add_epi16(s, _mm256_shuffle_epi32(s, 0xb1));
}

TOCCATA_INLINE int low_dword(__m128i v) { return _mm_cvtsi128_si32(v); }
TOCCATA_INLINE __m128i negate16(__m128i v) { return _mm_sub_epi16(_mm_setzero_si128(), v); }

TOCCATA_INLINE int sum_of_pair(int pair) { return static_cast<int16_t>(pair) + (pair >> 16); }

void quantize_block(const float* x, ActBlock32& b) {
  const BlockScale s = block_scale(max_lane(max_magnitude(x, _mm256_setzero_si256())));
  const __m256i q = quantize32(x, _mm256_set1_ps(s.inv));
  store256(b.q, q);
  const __m256i sums = pair_sums16(q);
  const __m128i both = _mm_add_epi16(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  const int neg = low_dword(negate16(both));
  memcpy(b.neg_pair_sum, &neg, sizeof(neg));
  b.d = s.d;
  b.d_sum = s.d * static_cast<float>(sum_of_pair(low_dword(both)));
}

// As generic run_step: cvtps of a NaN gives the most negative integer, which becomes 1.
TOCCATA_INLINE void run_steps(const float* amax, float inv_unit, int* step) {
  const __m256 r = _mm256_ceil_ps(_mm256_mul_ps(_mm256_loadu_ps(amax), _mm256_set1_ps(inv_unit)));
  __m256i s = _mm256_max_epi32(_mm256_cvtps_epi32(r), _mm256_set1_epi32(1));
  store256(step, _mm256_min_epi32(s, _mm256_set1_epi32(kActSteps)));
}

void quantize_block(const float* x, ActBlock256& b) {
  float run_amax[8];
  __m256i best = _mm256_setzero_si256();
  for (int g = 0; g < 8; ++g) {
    const __m256i run = max_magnitude(x + 32 * g, _mm256_setzero_si256());
    run_amax[g] = max_lane(run);
    best = _mm256_max_epi32(best, run);
  }
  const float amax = max_lane(best);
  const bool zero = amax < kActTiny;
  b.d = zero ? 0.0f : amax / (127.0f * kActSteps);
  const float whole_inv = zero ? 0.0f : (127.0f * kActSteps) / amax;
  int step[8];
  run_steps(run_amax, zero ? 0.0f : kActSteps / amax, step);
  for (int g = 0; g < 8; ++g) {
    b.step[g][0] = b.step[g][1] = static_cast<int16_t>(step[g]);
    const __m256i q = quantize32(x + 32 * g, _mm256_set1_ps(whole_inv / static_cast<float>(step[g])));
    store256(b.q + 32 * g, q);
    const __m256i sums = pair_sums16(q);
    const __m128i part[2] = {_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1)};
    int total[2];
    for (int i = 0; i < 2; ++i) {
      const int neg = low_dword(negate16(part[i]));
      memcpy(b.neg_pair_sum[2 * g + i], &neg, sizeof(neg));
      total[i] = step[g] * sum_of_pair(low_dword(part[i]));
      b.sum16[2 * g + i] = static_cast<int16_t>(total[i]);
    }
    b.sum32[g] = static_cast<int16_t>(total[0] + total[1]);
  }
}

}  // namespace

void quantize_act(ActKind kind, const float* x, int64_t cols, std::byte* dst) {
  if (kind == ActKind::kF32) {
    memcpy(dst, x, static_cast<size_t>(cols) * sizeof(float));
  } else if (kind == ActKind::kQ8_32) {
    auto* b = reinterpret_cast<ActBlock32*>(dst);
    for (int64_t k = 0; k < cols; k += 32) quantize_block(x + k, *b++);
  } else {
    auto* b = reinterpret_cast<ActBlock256*>(dst);
    for (int64_t k = 0; k < cols; k += 256) quantize_block(x + k, *b++);
  }
}

}  // namespace toccata::kernels::avx2
