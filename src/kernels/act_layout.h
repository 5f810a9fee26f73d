// Layout of a quantised activation row: one record per block, k ascending, so that a kernel needs a single pointer
// per token and every field is a broadcast at a constant offset.
//
// A dword of pair sums holds two int16 of the NEGATED sums over a run of elements: elements with k % 4 in {0, 1},
// then those with k % 4 in {2, 3}. Shifted left by log2(c), it starts the int16 accumulators of a product with
// unsigned codes u = code + c, so that they end as the sums with the centred codes (see x86/avx2/matmul_tile.h).
#pragma once

#include <cstdint>

namespace toccata::kernels {

struct ActBlock32 {  // ActKind::kQ8_32
  int8_t q[32];
  int16_t neg_pair_sum[2];  // over the 32 elements
  float d;                  // amax / 127
  float d_sum;              // d * float(sum of q), rounded once
};
static_assert(sizeof(ActBlock32) == 44);

// One f32 scale serves 256 elements, so that a product needs one conversion per super-block, but each run of 32 has an
// integer step s of 1 to 8: element k is d * s * q[k]. A run without outliers thus keeps its own resolution. The step
// multiplies the weights' integer sub-block scale, so sums stay exact: |scale * step| <= 128 * 8 fits int16, and
// 256 * 127 * 127 * 32 * 8 (IQ4_XS), 256 * 32 * 127 * 128 * 8 (Q6_K) stay below 2^31.
inline constexpr int kActSteps = 8;

struct ActBlock256 {  // ActKind::kQ8_256
  int8_t q[256];
  int16_t neg_pair_sum[16][2];  // per 16 elements, of q alone
  int16_t sum16[16];            // step * sum of q per 16 elements
  int16_t sum32[8];             // step * sum of q per 32 elements: at most 8 * 32 * 127 = 32,512
  int16_t step[8][2];           // per 32 elements, twice: a dword to broadcast
  float d;                      // amax / (127 * 8)
};
static_assert(sizeof(ActBlock256) == 404);

// Blocks whose largest magnitude is below this count as zeros: 127 / amax would leave the range of f32.
inline constexpr float kActTiny = 0x1p-100f;

}  // namespace toccata::kernels
