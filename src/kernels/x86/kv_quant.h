// Quantising a row of a head into a cache block, for all x86 instruction sets; kernels/generic/kv_quant.h is the
// reference and kernels/kv_layout.h the rule.
#pragma once

#include "kernels/kv_layout.h"
#include "kernels/x86/vec_half.h"

namespace toccata::kernels {
namespace {

TOCCATA_INLINE __m256i largest8(__m256i v) {  // the largest of 8 non-negative integers, in all lanes
  v = _mm256_max_epi32(v, _mm256_permute2x128_si256(v, v, 1));
  v = _mm256_max_epi32(v, _mm256_shuffle_epi32(v, 0x4e));
  return _mm256_max_epi32(v, _mm256_shuffle_epi32(v, 0xb1));
}

// 8, 16, 24 or 32 values to codes (all 32 are written, 0 beyond the end); returns the bits of the scale.
template <DType T>
inline uint16_t quantise_group(const float* x, int n, int8_t* codes) {
  constexpr bool kFour = T == DType::kQ4_0;
  const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
  __m256 v[4];
  __m256i most = _mm256_setzero_si256();
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    v[i] = 8 * i < n ? _mm256_loadu_ps(x + 8 * i) : _mm256_setzero_ps();
    // As integers, sizes of floats keep their order, and an infinity and a NaN come last.
    most = _mm256_max_epi32(most, _mm256_and_si256(_mm256_castps_si256(v[i]), magnitude));
  }
  const __m256 largest = _mm256_castsi256_ps(largest8(most));
  const int bits = _mm_cvtsi128_si32(_mm256_castsi256_si128(_mm256_castps_si256(largest)));
  __builtin_memset(codes, 0, kKvGroup);
  if (bits >= 0x7f800000) return kKvNanScale;
  float size = _mm_cvtss_f32(_mm256_castps256_ps128(largest)) / (kFour ? 8.0f : 127.0f);
  if (size > kKvMostScale) size = kKvMostScale;
  if (kFour) {
    int positive = 0;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) positive |= _mm256_movemask_ps(_mm256_cmp_ps(v[i], largest, _CMP_EQ_OQ));
    if (positive != 0) size = -size;
  }
  const uint16_t half = static_cast<uint16_t>(_cvtss_sh(size, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  if ((half & 0x7fff) == 0) return 0;
  const __m256 inverse = _mm256_set1_ps(1.0f / _cvtsh_ss(half));
  const __m256 low = _mm256_set1_ps(kFour ? -8.0f : -127.0f), high = _mm256_set1_ps(kFour ? 7.0f : 127.0f);
  __m256i whole[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    whole[i] = _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(_mm256_mul_ps(v[i], inverse), low), high));
  }
  // Packing works within halves of 128 bits: afterwards dwords of 4 codes stand as 0 2 4 6 | 1 3 5 7.
  const __m256i bytes =
      _mm256_packs_epi16(_mm256_packs_epi32(whole[0], whole[1]), _mm256_packs_epi32(whole[2], whole[3]));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes), _mm256_permutevar8x32_epi32(bytes, order));
  return half;
}

// Tokens are columns of K: a code goes to each channel's row.
template <DType T>
inline void store_quantised_k(const float* row, int head_dim, int t, std::byte* k) {
  constexpr int kStep = kv_k_step(T);
  int8_t codes[kKvGroup];
  uint8_t* out = reinterpret_cast<uint8_t*>(k) + kv_scale_bytes(head_dim) + (T == DType::kQ4_0 ? t % 16 : t);
  for (int begin = 0; begin < head_dim; begin += kKvGroup) {
    const int n = head_dim - begin < kKvGroup ? head_dim - begin : kKvGroup;
    const uint16_t scale = quantise_group<T>(row + begin, n, codes);
    __builtin_memcpy(k + 2 * (begin / kKvGroup * kKvBlock + t), &scale, 2);
    for (int i = 0; i < n; ++i, out += kStep) {
      const int code = codes[i];
      if constexpr (T == DType::kQ8_0) {
        *out = static_cast<uint8_t>(code);
      } else {
        *out = static_cast<uint8_t>(t < 16 ? (*out & 0xf0) | (code + 8) : (*out & 0x0f) | (code + 8) << 4);
      }
    }
  }
}

template <DType T>
inline void store_quantised_v(const float* row, int head_dim, int t, std::byte* v) {
  int8_t codes[kKvGroup];
  std::byte* out = v + kv_scale_bytes(head_dim) + t * kv_v_step(T, head_dim);
  for (int begin = 0; begin < head_dim; begin += kKvGroup) {
    const int n = head_dim - begin < kKvGroup ? head_dim - begin : kKvGroup;
    const uint16_t scale = quantise_group<T>(row + begin, n, codes);
    __builtin_memcpy(v + 2 * (t * kv_groups(head_dim) + begin / kKvGroup), &scale, 2);
    if constexpr (T == DType::kQ8_0) {
      __builtin_memcpy(out, codes, static_cast<size_t>(n));
      out += n;
    } else {
      const __m128i eight = _mm_set1_epi8(8);
      const __m128i low = _mm_add_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)), eight);
      const __m128i high = _mm_add_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + 16)), eight);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_or_si128(low, _mm_slli_epi16(high, 4)));
      out += kKvGroup / 2;
    }
  }
}

}  // namespace
}  // namespace toccata::kernels
