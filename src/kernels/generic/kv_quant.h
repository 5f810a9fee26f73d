// Reference of the cache types: stores and loads one element or group at a time, straight from kernels/kv_layout.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/kv_layout.h"
#include "tensor/dequantize.h"

namespace toccata::kernels::generic {

struct KvGroup {
  uint16_t scale = 0;
  int8_t codes[kKvGroup] = {};
};

inline KvGroup quantise_group(DType type, const float* x, int n) {
  KvGroup group;
  float largest = 0.0f, highest = 0.0f;
  for (int i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) {
      group.scale = kKvNanScale;
      return group;
    }
    largest = std::max(largest, std::fabs(x[i]));
    highest = std::max(highest, x[i]);
  }
  const bool four = type == DType::kQ4_0;
  const float size = std::min(four ? largest / 8.0f : largest / 127.0f, kKvMostScale);
  group.scale = f32_to_f16(four && highest == largest ? -size : size);
  const float d = f16_to_f32(group.scale);
  if (d == 0.0f) {
    group.scale = 0;
    return group;
  }
  const float inverse = 1.0f / d, low = four ? -8.0f : -127.0f, high = four ? 7.0f : 127.0f;
  for (int i = 0; i < n; ++i) {
    group.codes[i] = static_cast<int8_t>(std::nearbyint(std::clamp(x[i] * inverse, low, high)));
  }
  return group;
}

inline float load_float(DType type, const std::byte* base, size_t index) {
  if (type == DType::kF32) {
    float f;
    std::memcpy(&f, base + 4 * index, 4);
    return f;
  }
  uint16_t h;
  std::memcpy(&h, base + 2 * index, 2);
  return type == DType::kBF16 ? bf16_to_f32(h) : f16_to_f32(h);
}

inline void store_float(DType type, float value, std::byte* base, size_t index) {
  if (type == DType::kF32) {
    std::memcpy(base + 4 * index, &value, 4);
    return;
  }
  const uint16_t h = type == DType::kF16 ? f32_to_f16(value) : f32_to_bf16(value);
  std::memcpy(base + 2 * index, &h, 2);
}

// One of the codes of a run: element `index` of bytes, or the low or high nibble of byte `index`.
inline void store_code(DType type, int8_t code, std::byte* codes, int index, bool high) {
  std::byte& at = codes[index];
  if (type == DType::kQ8_0) {
    at = static_cast<std::byte>(code);
    return;
  }
  const std::byte nibble = static_cast<std::byte>(code + 8);
  at = high ? (at & std::byte{0x0f}) | nibble << 4 : (at & std::byte{0xf0}) | nibble;
}

inline float load_code(DType type, const std::byte* codes, int index, bool high) {
  const int at = std::to_integer<int>(codes[index]);
  if (type == DType::kQ8_0) return static_cast<float>(static_cast<int8_t>(at));
  return static_cast<float>((high ? at >> 4 : at & 15) - 8);
}

// Where the code of channel d of token t is, in K and in V.
struct KvPlace {
  int scale, code;
  bool high;
};

inline KvPlace place_in_k(DType type, int t, int d) {
  const bool four = type == DType::kQ4_0;
  return {d / kKvGroup * kKvBlock + t, d * kv_k_step(type) + (four ? t % 16 : t), four && t >= 16};
}

inline KvPlace place_in_v(DType type, int head_dim, int t, int d) {
  const bool four = type == DType::kQ4_0;
  const int in_row = four ? d / kKvGroup * (kKvGroup / 2) + d % 16 : d;
  return {t * kv_groups(head_dim) + d / kKvGroup, t * kv_v_step(type, head_dim) + in_row, four && d % kKvGroup >= 16};
}

inline void store_quantised(DType type, const float* row, int head_dim, int t, bool value, std::byte* base) {
  std::byte* codes = base + kv_scale_bytes(head_dim);
  for (int begin = 0; begin < head_dim; begin += kKvGroup) {
    const int n = std::min(kKvGroup, head_dim - begin);
    const KvGroup group = quantise_group(type, row + begin, n);
    // A shorter group of nibbles is stored whole in V.
    const int stored = value && type == DType::kQ4_0 ? kKvGroup : n;
    for (int i = 0; i < stored; ++i) {
      const KvPlace at = value ? place_in_v(type, head_dim, t, begin + i) : place_in_k(type, t, begin + i);
      std::memcpy(base + 2 * at.scale, &group.scale, 2);
      store_code(type, group.codes[i], codes, at.code, at.high);
    }
  }
}

inline float load_k(DType type, const std::byte* k, int head_dim, int t, int d) {
  if (!kv_quantised(type)) return load_float(type, k, static_cast<size_t>(d * kKvBlock + t));
  const KvPlace at = place_in_k(type, t, d);
  return load_float(DType::kF16, k, static_cast<size_t>(at.scale)) *
         load_code(type, k + kv_scale_bytes(head_dim), at.code, at.high);
}

inline float load_v(DType type, const std::byte* v, int head_dim, int t, int d) {
  if (!kv_quantised(type)) return load_float(type, v, static_cast<size_t>(t * head_dim + d));
  const KvPlace at = place_in_v(type, head_dim, t, d);
  return load_float(DType::kF16, v, static_cast<size_t>(at.scale)) *
         load_code(type, v + kv_scale_bytes(head_dim), at.code, at.high);
}

}  // namespace toccata::kernels::generic
