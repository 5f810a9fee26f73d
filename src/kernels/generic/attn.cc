// Reference of the attention kernels: one row at a time, straight from the rules in kernels/attn.h.
#include "kernels/attn.h"

#include <algorithm>
#include <limits>

#include "kernels/generic/kv_quant.h"
#include "kernels/generic/vec_math.h"

namespace toccata::kernels::generic {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

void store_k(DType type, const float* src, size_t stride, int head_dim, int slot, int tokens, std::byte* k) {
  for (int t = slot; t < slot + tokens; ++t, src += stride) {
    if (kv_quantised(type)) {
      store_quantised(type, src, head_dim, t, false, k);
      continue;
    }
    for (int d = 0; d < head_dim; ++d) store_float(type, src[d], k, static_cast<size_t>(d * kKvBlock + t));
  }
}

void store_v(DType type, const float* src, size_t stride, int head_dim, int slot, int tokens, std::byte* v) {
  for (int t = slot; t < slot + tokens; ++t, src += stride) {
    if (kv_quantised(type)) {
      store_quantised(type, src, head_dim, t, true, v);
      continue;
    }
    for (int d = 0; d < head_dim; ++d) store_float(type, src[d], v, static_cast<size_t>(t * head_dim + d));
  }
}

// Keys [lo, hi) of the tile that begins at `begin`, relative to it, that the row sees; empty if lo >= hi.
struct Range {
  int lo, hi;
};

Range visible(const AttnTile& tile, int row, int64_t begin) {
  const int64_t pos = tile.first_pos + row / tile.group;
  const int64_t first = tile.window > 0 ? std::max<int64_t>(0, pos - tile.window + 1) : 0;
  return {static_cast<int>(std::clamp<int64_t>(first - begin, 0, kAttnTile)),
          static_cast<int>(std::clamp<int64_t>(pos + 1 - begin, 0, kAttnTile))};
}

void row_scores(const AttnTile& tile, int row, Range range, const std::byte* const* blocks, float* s) {
  const float* q = tile.q + row * tile.head_dim;
  std::fill_n(s, kAttnTile, -kInf);
  for (int j = range.lo; j < range.hi; ++j) {
    const std::byte* k = blocks[j / kKvBlock];
    float sum = 0.0f;
    for (int d = 0; d < tile.head_dim; ++d) {
      sum = std::fma(q[d], load_k(tile.k_type, k, tile.head_dim, j % kKvBlock, d), sum);
    }
    s[j] = sum;
  }
}

void row_accumulate(const AttnTile& tile, Range range, const std::byte* const* blocks, const float* p, float* o) {
  for (int j = range.lo; j < range.hi; ++j) {
    const std::byte* v = blocks[j / kKvBlock] + tile.v_offset;
    for (int d = 0; d < tile.head_dim; ++d) {
      o[d] = std::fma(p[j], load_v(tile.v_type, v, tile.head_dim, j % kKvBlock, d), o[d]);
    }
  }
}

float row_max(const float* s, int64_t n) {
  float m = -kInf;
  for (int64_t i = 0; i < n; ++i) m = std::max(m, s[i]);
  return m;
}

// s becomes p, relative to the maximum m; returns the sum of p.
float row_exp(float* s, int64_t n, float m, float c) {
  const float mc = (m == -kInf ? 0.0f : m) * c;
  float lane[16] = {};
  for (int64_t i = 0; i < n; ++i) {
    s[i] = exp2_poly(std::fma(s[i], c, -mc));
    lane[i % 16] += s[i];
  }
  return tree16(lane);
}

// exp2((from - to) c), to = -inf counting as 0.
float rescale(float from, float to, float c) { return exp2_poly((from - (to == -kInf ? 0.0f : to)) * c); }

void split(const AttnTile& tile, int64_t begin, const std::byte* const* blocks, const AttnState& state, std::byte*) {
  const int o_stride = attn_o_stride(tile.head_dim);
  for (int r = 0; r < tile.rows; ++r) {
    float m = -kInf, l = 0.0f;
    float* o = state.o + r * o_stride;
    std::fill_n(o, tile.head_dim, 0.0f);
    for (int t = 0; t < kAttnSplit / kAttnTile; ++t) {
      const Range range = visible(tile, r, begin + t * kAttnTile);
      const size_t place = static_cast<size_t>(t * tile.rows + r);
      if (range.lo >= range.hi) {
        if (tile.p) std::fill_n(tile.p + place * kAttnTile, kAttnTile, 0.0f);
        if (tile.p) tile.p_max[place] = m;
        continue;
      }
      const std::byte* const* tile_blocks = blocks + t * (kAttnTile / kKvBlock);
      float s[kAttnTile];
      row_scores(tile, r, range, tile_blocks, s);
      const float next = std::max(m, row_max(s, kAttnTile));
      const float scale = rescale(m, next, tile.c);
      m = next;
      l = std::fma(l, scale, row_exp(s, kAttnTile, m, tile.c));
      for (int d = 0; d < tile.head_dim; ++d) o[d] *= scale;
      row_accumulate(tile, range, tile_blocks, s, o);
      if (!tile.p) continue;
      std::copy_n(s, kAttnTile, tile.p + place * kAttnTile);
      tile.p_max[place] = m;
    }
    state.m[r] = m;
    state.l[r] = l;
  }
}

void merge(const AttnState& into, const AttnState& from, int rows, int head_dim, float c) {
  for (int r = 0; r < rows; ++r) {
    const float m = std::max(into.m[r], from.m[r]);
    const float a = rescale(into.m[r], m, c), b = rescale(from.m[r], m, c);
    float* o = into.o + r * attn_o_stride(head_dim);
    const float* add = from.o + r * attn_o_stride(head_dim);
    for (int d = 0; d < head_dim; ++d) o[d] = std::fma(o[d], a, add[d] * b);
    into.l[r] = std::fma(into.l[r], a, from.l[r] * b);
    into.m[r] = m;
  }
}

void columns(const AttnTile& tile, int t, const float* m, const float* l, int keys, float* w, float* sum) {
  const size_t place = static_cast<size_t>(t * tile.rows);
  for (int r = 0; r < tile.rows; ++r) w[r] = rescale(tile.p_max[place + static_cast<size_t>(r)], m[r], tile.c) / l[r];
  for (int r = 0; r < tile.rows; ++r) {
    const float* p = tile.p + (place + static_cast<size_t>(r)) * kAttnTile;
    for (int j = 0; j < keys; ++j) sum[j] = std::fma(p[j], w[r], sum[j]);
  }
}

void finish(const float* o, float l, int head_dim, float* out) {
  for (int d = 0; d < head_dim; ++d) out[d] = o[d] / l + 0.0f;
}

void scores(const AttnTile& tile, int64_t begin, const std::byte* const* blocks, float* s, size_t stride, std::byte*) {
  for (int r = 0; r < tile.rows; ++r) {
    row_scores(tile, r, visible(tile, r, begin), blocks, s + static_cast<size_t>(r) * stride);
  }
}

float softmax(float* s, int64_t n, float c) { return row_exp(s, n, row_max(s, n), c); }

void accumulate(const AttnTile& tile, int64_t begin, const std::byte* const* blocks, const float* p, size_t stride,
                float* o, std::byte*) {
  for (int r = 0; r < tile.rows; ++r) {
    row_accumulate(tile, visible(tile, r, begin), blocks, p + static_cast<size_t>(r) * stride,
                   o + r * attn_o_stride(tile.head_dim));
  }
}

}  // namespace

extern const AttnKernels kAttn;
const AttnKernels kAttn = {store_k, store_v, split, merge, columns, finish, scores, softmax, accumulate};

}  // namespace toccata::kernels::generic
