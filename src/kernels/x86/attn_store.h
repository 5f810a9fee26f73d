// Writing K and V into a cache block; the same for all x86 instruction sets.
#pragma once

#include "kernels/attn.h"
#include "kernels/x86/kv_quant.h"

namespace toccata::kernels {
namespace {

// Slots are columns of K: 8 values at a time are converted and spread over 8 rows.
inline void store_k(DType type, const float* src, size_t stride, int head_dim, int slot, int tokens, std::byte* k) {
  for (int t = 0; t < tokens; ++t, src += stride) {
    if (type == DType::kQ8_0) {
      store_quantised_k<DType::kQ8_0>(src, head_dim, slot + t, k);
      continue;
    }
    if (type == DType::kQ4_0) {
      store_quantised_k<DType::kQ4_0>(src, head_dim, slot + t, k);
      continue;
    }
    for (int d = 0; d < head_dim; d += 8) {
      const int to = d * kKvBlock + slot + t;
      if (type == DType::kF32) {
        float* out = reinterpret_cast<float*>(k) + to;
        for (int i = 0; i < 8; ++i) out[i * kKvBlock] = src[d + i];
      } else {
        alignas(16) uint16_t half[8];
        _mm_store_si128(reinterpret_cast<__m128i*>(half), narrow8(_mm256_loadu_ps(src + d), type));
        uint16_t* out = reinterpret_cast<uint16_t*>(k) + to;
        for (int i = 0; i < 8; ++i) out[i * kKvBlock] = half[i];
      }
    }
  }
}

inline void store_v(DType type, const float* src, size_t stride, int head_dim, int slot, int tokens, std::byte* v) {
  for (int t = 0; t < tokens; ++t, src += stride) {
    if (type == DType::kQ8_0) {
      store_quantised_v<DType::kQ8_0>(src, head_dim, slot + t, v);
      continue;
    }
    if (type == DType::kQ4_0) {
      store_quantised_v<DType::kQ4_0>(src, head_dim, slot + t, v);
      continue;
    }
    for (int d = 0; d < head_dim; d += 8) {
      const __m256 value = _mm256_loadu_ps(src + d);
      const int to = (slot + t) * head_dim + d;
      if (type == DType::kF32) {
        _mm256_storeu_ps(reinterpret_cast<float*>(v) + to, value);
      } else {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(v + 2 * to), narrow8(value, type));
      }
    }
  }
}

}  // namespace
}  // namespace toccata::kernels
