// Attention kernels on the block-based KV cache: the API and the rules of their arithmetic.
//
// A cache block holds kKvBlock = 32 tokens of one layer and KV head: K transposed [head_dim][32], so that the
// lanes of a score vector are keys and no sum crosses lanes, and V as [32][head_dim].
//
// For one query row, one KV head, keys j ascending:
//   score   s_j = chain over d ascending of fma(q[d], K[d][j], s), from +0, on the values in the cache
//   tile    kAttnTile = 64 keys from absolute multiples of 64: m' = max(m, max s_j); r = exp2((m - m') c);
//           p_j = exp2(fma(s_j, c, -(m' c))), c = scale * log2(e) in f32; masked keys have s_j = -inf;
//           l = l r + sum of p_j (16 lanes as in kernels/vec.h); O[d] = O[d] r, then for j ascending
//           O[d] = fma(p_j, V[j][d], O[d]). m' = -inf counts as 0 in the exponents.
//   split   kAttnSplit = 512 keys from absolute multiples of 512, each from (m, l, O) = (-inf, 0, 0)
//   merge   splits ascending into a running (m, l, O): m' = max; a = exp2((m - m') c), b = exp2((m_s - m') c);
//           l = fma(l, a, l_s b); O[d] = fma(O[d], a, O_s[d] b)
//   output  O[d] / l + 0 (the + 0 makes the sign of a zero independent of skipped tiles)
// exp2 is one polynomial for all instruction sets (kernels/exp2.h). Milakov and Gimelshein 2018; Dao et al. 2022.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace toccata::kernels {

inline constexpr int kKvBlock = 32;
inline constexpr int kAttnTile = 64;
inline constexpr int kAttnSplit = 512;

// Filled in by the owner of the attention kernels: storing K and V, one split of a tile of query rows, the merge.
struct AttnKernels;

}  // namespace toccata::kernels
