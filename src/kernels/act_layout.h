// Layout of a quantised activation row: one record per run of 32 elements, k ascending, so that a kernel needs a
// single pointer per token and every field is a broadcast at a constant offset.
#pragma once

#include <cstdint>

namespace toccata::kernels {

// For weights whose codes are unsigned and of at most 5 bits: products of bytes.
struct ActBlock8 {  // ActKind::kQ8
  int8_t q[32];
  // The NEGATED sums over the elements with k % 4 in {0, 1}, then over those with k % 4 in {2, 3}. Shifted left by
  // log2(c), they start the int16 accumulators of a product with unsigned codes u = code + c, so that these end as the
  // sums with the centred codes (see x86/avx2/matmul_run.h).
  int16_t neg_pair_sum[2];
  float d;      // amax / 127
  float d_sum;  // d * float(sum of q), rounded once
};
static_assert(sizeof(ActBlock8) == 44);

// For weights whose values need more than 5 bits: Q8_0, IQ4 tables, Q6_K and the other formats with sub-blocks of 16,
// whose codes are multiplied by their sub-block scale first. Such a product of bytes would have to be widened after
// every step, so products of int16 cost the same there (Q8_0) or little more, and the finer activations take the
// noise out of the two places that need it most: the output layer and the down projection.
//
// 14 bits: a weight value is at most 4096 in magnitude (Q6_K: 32 * 128), and 32 * 4096 * 16383 < 2^31.
struct ActBlock16 {    // ActKind::kQ16
  int16_t q[32];       // each four elements k, k + 1, k + 2, k + 3 in the order k, k + 2, k + 1, k + 3: see below
  float d;             // amax / 16383
  int32_t neg_sum[2];  // the NEGATED sums over each 16 elements: they start the accumulators as in ActBlock8
};
static_assert(sizeof(ActBlock16) == 76);

inline constexpr float kActMax8 = 127.0f, kActMax16 = 16383.0f;

// Index in ActBlock16::q of element k. A dword of four weight bytes splits into two dwords of int16 by a mask and a
// shift, which gives the even bytes, then the odd ones.
constexpr int act16_index(int k) { return k / 4 * 4 + k % 4 / 2 + k % 2 * 2; }

// Runs whose largest magnitude is below this count as zeros: 16383 / amax would leave the range of f32.
inline constexpr float kActTiny = 0x1p-100f;

}  // namespace toccata::kernels
