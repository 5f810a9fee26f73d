// How K and V of one KV head lie in a cache block of 32 tokens, for every cache type, and how rows are quantised.
//
//   f32, f16, bf16  K [head_dim][32], transposed so that the lanes of a score vector are keys; V [32][head_dim]
//   q8_0, q4_0      Groups of 32 channels of one token share an f16 scale d, as in GGUF's formats of these names (the
//                   last group of a head size that is no multiple of 32 is shorter). Scales first, then codes, each in
//                   the order in which a tile is read:
//                     K  scales [groups][32 tokens], codes [head_dim][32]
//                     V  scales [32 tokens][groups], codes [32][head_dim]
//                   Nibbles of K: byte i of a channel's 16 has token i below and token i + 16 above; of V: byte i of a
//                   group's 16 has channel i below and channel i + 16 above, and a shorter group is stored whole.
//
// A value is d code, which is exact in f32: 11 bits times at most 8. Codes of a group whose largest |x| is a:
//   q8_0  d = f16(min(a / 127, 65504)),       code = clamp(x (1 / d), -127, 127)
//   q4_0  d = f16(-+ min(a / 8, 65504)),      code = clamp(x (1 / d), -8, 7), stored as code + 8; the sign of d is
//         such that a value of size a (a positive one, if there are both) gets the code -8
// rounded to nearest even, 1 / d rounded to f32. d = 0 has codes 0; a group with an infinity or a NaN has d = NaN and
// codes 0, so that a fault is as visible as in the other types.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace toccata::kernels {

inline constexpr int kKvBlock = 32;
inline constexpr int kKvGroup = 32;      // channels that share a scale
inline constexpr int kMaxHeadDim = 512;  // head_dim is a multiple of 8 up to this
inline constexpr float kKvMostScale = 65504.0f;
inline constexpr uint16_t kKvNanScale = 0x7e00;

inline constexpr bool kv_quantised(DType type) { return type == DType::kQ8_0 || type == DType::kQ4_0; }
inline constexpr int kv_groups(int head_dim) { return (head_dim + kKvGroup - 1) / kKvGroup; }
// Bytes of the scales before the codes, of K and of V.
inline constexpr int kv_scale_bytes(int head_dim) { return 2 * kKvBlock * kv_groups(head_dim); }
// Bytes of the codes of one channel of K, and of one token of V.
inline constexpr int kv_k_step(DType type) { return type == DType::kQ4_0 ? kKvBlock / 2 : kKvBlock; }
inline constexpr int kv_v_step(DType type, int head_dim) {
  return type == DType::kQ4_0 ? kKvGroup / 2 * kv_groups(head_dim) : head_dim;
}

// Bytes of K and of V of one head in one block: multiples of 64.
inline constexpr int kv_k_bytes(DType type, int head_dim) {
  if (kv_quantised(type)) return kv_scale_bytes(head_dim) + head_dim * kv_k_step(type);
  return kKvBlock * head_dim * (type == DType::kF32 ? 4 : 2);
}
inline constexpr int kv_v_bytes(DType type, int head_dim) {
  if (kv_quantised(type)) return kv_scale_bytes(head_dim) + kKvBlock * kv_v_step(type, head_dim);
  return kKvBlock * head_dim * (type == DType::kF32 ? 4 : 2);
}

}  // namespace toccata::kernels
