// Attention kernels on the block-based KV cache: the API and the rules of their arithmetic.
//
// A cache block holds kKvBlock = 32 tokens of one layer and KV head; kernels/kv_layout.h says how they lie in it and
// what values they have there.
//
// For one query row, one KV head, keys j ascending. Keys that the row does not see take no part in anything:
//   score   s_j = chain over d ascending of fma(q[d], K[d][j], s), from +0, on the values in the cache
//   tile    kAttnTile = 64 keys from absolute multiples of 64: m' = max(m, max s_j); r = exp2((m - m') c);
//           p_j = exp2(fma(s_j, c, -(m' c))), c = scale * log2(e) in f32;
//           l = fma(l, r, sum of p_j) (16 lanes as in kernels/vec.h, lane = key modulo 16, unseen keys add 0);
//           O[d] = O[d] r, then for j ascending O[d] = fma(p_j, V[j][d], O[d]). m' = -inf counts as 0 in exponents.
//   split   kAttnSplit = 512 keys from absolute multiples of 512, each from (m, l, O) = (-inf, 0, 0)
//   merge   splits ascending into a running (m, l, O): m' = max; a = exp2((m - m') c), b = exp2((m_s - m') c);
//           l = fma(l, a, l_s b); O[d] = fma(O[d], a, O_s[d] b)
//   output  O[d] / l + 0 (the + 0 makes the sign of a zero independent of skipped tiles and splits)
// A tile or split without a visible key changes nothing (r = a = 1, b = 0), so skipping it is exact, too.
// exp2 is one polynomial for all instruction sets (kernels/exp2.h). Milakov and Gimelshein 2018; Dao et al. 2022.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kv_layout.h"

namespace toccata::kernels {

inline constexpr int kAttnTile = 64;
inline constexpr int kAttnSplit = 512;
inline constexpr int kAttnRows = 96;  // most query rows of one call

// Floats between the O rows of a state: whole groups of 16 lanes.
inline constexpr int attn_o_stride(int head_dim) { return (head_dim + 15) / 16 * 16; }

// Scratch of one call: a tile of scores, two numbers per row, and a tile of K or V as plain floats with its scales,
// where the cache is quantised. Independent of the context.
inline constexpr size_t attn_scratch_bytes(int head_dim) {
  return sizeof(float) *
         static_cast<size_t>((kAttnTile + 2) * kAttnRows + kAttnTile * (attn_o_stride(head_dim) + kv_groups(head_dim)));
}

// Query rows that share one KV head. Row r is a query at position first_pos + r / group: `group` heads of a token lie
// side by side. It sees keys j <= its position, and if window > 0 only j > position - window.
struct AttnTile {
  const float* q = nullptr;  // [rows][head_dim], packed
  int rows = 0;              // 1 .. kAttnRows
  int group = 1;
  int head_dim = 0;
  DType k_type = DType::kF16, v_type = DType::kF16;
  size_t v_offset = 0;  // bytes from a block's K to its V
  int64_t first_pos = 0;
  int64_t window = 0;
  float c = 0.0f;  // scale * log2(e), > 0
  // Where split() leaves what weighs the keys, or null. Of tile t of the split (those with a key that some row sees):
  // p_j, 0 for unseen keys, [tiles][rows][64], and m' of each row [tiles][rows].
  float* p = nullptr;
  float* p_max = nullptr;
};

// Softmax state of the rows of a tile; o: [rows][attn_o_stride(head_dim)], padding undefined.
struct AttnState {
  float* m = nullptr;
  float* l = nullptr;
  float* o = nullptr;
};

// Cache types: kF32, kF16, kBF16, kQ8_0, kQ4_0. `blocks` are the K runs of one KV head, 64-byte aligned, blocks[i] with
// positions begin + 32 i ...; only blocks that hold a visible key are read (other entries may be null), and no V of an
// unseen key is used, so memory that was never written (or holds NaN) is harmless. scratch:
// attn_scratch_bytes(head_dim), 64-byte aligned.
struct AttnKernels {
  // Writes rows of K or V (f32, `stride` floats apart, rounded as kv_layout.h says) into slots [slot, slot + tokens).
  void (*store_k)(DType type, const float* src, size_t stride, int head_dim, int slot, int tokens, std::byte* k);
  void (*store_v)(DType type, const float* src, size_t stride, int head_dim, int slot, int tokens, std::byte* v);

  // One split: keys [begin, begin + kAttnSplit), begin a multiple of it. Overwrites the state.
  void (*split)(const AttnTile& tile, int64_t begin, const std::byte* const* blocks, const AttnState& state,
                std::byte* scratch);
  // into = merge(into, from), `rows` rows.
  void (*merge)(const AttnState& into, const AttnState& from, int rows, int head_dim, float c);
  // What the queries of a tile gave to its keys: of tile `t` of a split, once m and l of the rows are final,
  // sum[j] = chain over rows ascending of fma(p_rj, w_r, sum[j]), w_r = exp2((m'_r - m_r) c) / l_r, j in [0, keys),
  // keys 32 or 64. So sum grows by the softmax probabilities, and each row adds to it in the order of queries. w:
  // kAttnRows floats of scratch; p and sum 64-byte aligned.
  void (*columns)(const AttnTile& tile, int t, const float* m, const float* l, int keys, float* w, float* sum);
  // out[d] = O[d] / l + 0 of one row.
  void (*finish)(const float* o, float l, int head_dim, float* out);

  // The parts of the plain method (attention/naive.cc), which materialises S and P.
  // s[r * stride + j] = score of row r and key begin + j, j in [0, 64), -inf for keys that the row does not see.
  void (*scores)(const AttnTile& tile, int64_t begin, const std::byte* const* blocks, float* s, size_t stride,
                 std::byte* scratch);
  // s[i] = exp2(fma(s[i], c, -(m c))), m = max s; returns the sum in 16 lanes. n: a multiple of 16, s: 64-byte aligned.
  float (*softmax)(float* s, int64_t n, float c);
  // O[r][d] = chain over visible j ascending in [begin, begin + 64) of fma(p[r * stride + j], V[j][d], O[r][d]).
  void (*accumulate)(const AttnTile& tile, int64_t begin, const std::byte* const* blocks, const float* p, size_t stride,
                     float* o, std::byte* scratch);
};

}  // namespace toccata::kernels
