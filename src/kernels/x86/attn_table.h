// The table of attention kernels for one instruction set, made of the tile products and the softmax on 16 lanes.
#pragma once

#include "kernels/x86/attn_quant.h"
#include "kernels/x86/attn_store.h"
#include "kernels/x86/attn_weights.h"

namespace toccata::kernels {
namespace {

template <class L>
struct AttnBody {
  // --- inner products ------------------------------------------------------------------------------------------------

  // Scores of panels with a visible key; others are left as they are, and keys are not masked yet. Block by block, so
  // that K comes from the L1 cache for all groups of rows but the first.
  template <class Keys>
  static TOCCATA_INLINE void products(const Keys& keys, const AttnTile& tile, const View& view,
                                      const std::byte* const* blocks, float* s, size_t stride) {
    constexpr int kStep = kKvBlock / 16;
    const RowGroups<L> groups(tile.rows);
    for (int p = view.first / kKvBlock * kStep; 16 * p < view.end; p += kStep) {
      const std::byte* block = blocks[p / kStep];
      const std::byte* k = keys.open(tile, block);
      for (int g = 0; g < groups.count; ++g) {
        const int begin = groups.begin(g), end = groups.begin(g + 1);
        const int from = view.first_panel(begin), to = view.end_panel(end - 1);
        keys.scores(tile, begin, end, from > p ? from : p, to < p + kStep ? to : p + kStep, k,
                    g == 0 ? block + tile.v_offset : nullptr, s, stride);
      }
    }
  }

  // O[r] = O[r] factor[r], then adds the visible keys. `next`: as in ValueBlock.
  template <class Values>
  static TOCCATA_INLINE void weighted(const Values& values, const AttnTile& tile, const View& view,
                                      const std::byte* const* blocks, const std::byte* const* next, const float* p,
                                      size_t stride, const AttnScratch& scratch, float* o) {
    const std::byte* v[2];
    values.open(tile, view, blocks, v);
    const RowGroups<L> groups(tile.rows);
    if (view.full) {
      for (int g = 0; g < groups.count; ++g) {
        values.accumulate(tile, groups.begin(g), groups.begin(g + 1), 0, kAttnTile, v, g == 0 ? next : nullptr, p,
                          stride, scratch.factor, o);
      }
      return;
    }
    const auto add = [&](int begin, int end, int from, int to) {
      if (from < to) values.accumulate(tile, begin, end, from, to, v, nullptr, p, stride, scratch.ones, o);
    };
    for (int g = 0; g < groups.count; ++g) {
      // Keys [lo, hi) are common to the rows of the group; what only some rows see goes row by row, before and after.
      const int begin = groups.begin(g), end = groups.begin(g + 1);
      const int lo = view.lo[end - 1];
      const int hi = view.hi[begin] > lo ? view.hi[begin] : lo;
      for (int r = begin; r < end; ++r) {
        rescale_row(o + r * attn_o_stride(tile.head_dim), tile, scratch.factor[r]);
        add(r, r + 1, view.lo[r], lo < view.hi[r] ? lo : view.hi[r]);
      }
      add(begin, end, lo, hi);
      for (int r = begin; r < end; ++r) add(r, r + 1, hi > view.lo[r] ? hi : view.lo[r], view.hi[r]);
    }
  }

  static TOCCATA_INLINE void rescale_row(float* o, const AttnTile& tile, float factor) {
    for (int d = 0; d < attn_o_stride(tile.head_dim); d += 16) (L::load(o + d) * L::all(factor)).store(o + d);
  }

  // --- softmax -------------------------------------------------------------------------------------------------------

  static TOCCATA_INLINE float largest(const float* s, int64_t n) {
    L m = L::all(kNone);
    for (int64_t i = 0; i < n; i += 16) m = L::max(L::load(s + i), m);
    return m.largest();
  }

  // s becomes p, relative to the maximum m; returns the sum of p.
  static TOCCATA_INLINE float exponentials(float* s, int64_t n, float m, float c) {
    const L scale = L::all(c), shift = L::all((m == kNone ? 0.0f : m) * c);
    L sum = L::all(0.0f);
    for (int64_t i = 0; i < n; i += 16) {
      const L p = exp2_poly(L::fms(L::load(s + i), scale, shift));
      p.store(s + i);
      sum = sum + p;
    }
    return sum.sum();
  }

  static TOCCATA_INLINE void mask_row(float* s, int panels, int lo, int hi) {
    for (int p = 0; p < panels; ++p, s += 16) L::keep(L::load(s), lo - 16 * p, hi - 16 * p).store(s);
  }

  // The online softmax of one tile: scores become probabilities, factor[r] is what O has to be scaled by. In three
  // passes, so that the factors of 16 rows are one vector.
  static void softmax_tile(const AttnTile& tile, const View& view, const AttnState& state, const AttnScratch& scratch) {
    for (int r = 0; r < tile.rows; ++r) {
      const int first = view.first_panel(r), panels = view.end_panel(r) - first;
      float* s = scratch.s + r * kAttnTile + 16 * first;
      scratch.factor[r] = 0.0f;  // exp2(0) = 1 for a row that sees nothing
      if (view.sees_none(r)) continue;
      if (!view.full) mask_row(s, panels, view.lo[r] - 16 * first, view.hi[r] - 16 * first);
      const float here = largest(s, 16 * panels);
      const float m = state.m[r] < here ? here : state.m[r];
      scratch.factor[r] = score_exponent(state.m[r], m, tile.c);
      state.m[r] = m;
    }
    for (int r = 0; r < tile.rows; r += 16) exp2_poly(L::load(scratch.factor + r)).store(scratch.factor + r);
    for (int r = 0; r < tile.rows; ++r) {
      if (view.sees_none(r)) continue;
      const int first = view.first_panel(r), panels = view.end_panel(r) - first;
      const float sum = exponentials(scratch.s + r * kAttnTile + 16 * first, 16 * panels, state.m[r], tile.c);
      state.l[r] = __builtin_fmaf(state.l[r], scratch.factor[r], sum);
    }
  }

  // --- the table -----------------------------------------------------------------------------------------------------

  static void split(const AttnTile& tile, int64_t begin, const std::byte* const* blocks, const AttnState& state,
                    std::byte* memory) {
    AttnScratch scratch(memory, tile.head_dim);
    for (int r = 0; r < tile.rows; ++r) {
      state.m[r] = kNone;
      state.l[r] = 0.0f;
    }
    __builtin_memset(state.o, 0, sizeof(float) * static_cast<size_t>(tile.rows * attn_o_stride(tile.head_dim)));
    for (int t = 0; t < kAttnSplit / kAttnTile; ++t, blocks += kAttnTile / kKvBlock) {
      const View view(tile, begin + t * kAttnTile);
      if (view.empty()) continue;
      if (tile.p) scratch.s = tile.p + t * tile.rows * kAttnTile;
      with_keys<L>(tile, scratch, [&](const auto& keys) { products(keys, tile, view, blocks, scratch.s, kAttnTile); });
      softmax_tile(tile, view, state, scratch);
      if (tile.p) AttnWeights<L>::keep(tile, view, t, state);
      const bool more = t + 1 < kAttnSplit / kAttnTile && blocks[2] && blocks[3];
      const std::byte* const* next = more ? blocks + kAttnTile / kKvBlock : nullptr;
      with_values<L>(tile, scratch, [&](const auto& values) {
        weighted(values, tile, view, blocks, next, scratch.s, kAttnTile, scratch, state.o);
      });
    }
  }

  static void merge(const AttnState& into, const AttnState& from, int rows, int head_dim, float c) {
    const int stride = attn_o_stride(head_dim);
    for (int r = 0; r < rows; ++r) {
      const float m = into.m[r] < from.m[r] ? from.m[r] : into.m[r];
      alignas(64) float factor[16] = {score_exponent(into.m[r], m, c), score_exponent(from.m[r], m, c)};
      exp2_poly(L::load(factor)).store(factor);
      const L a = L::all(factor[0]), b = L::all(factor[1]);
      float* o = into.o + r * stride;
      const float* add = from.o + r * stride;
      for (int d = 0; d < stride; d += 16) L::fma(L::load(o + d), a, L::load(add + d) * b).store(o + d);
      into.l[r] = __builtin_fmaf(into.l[r], factor[0], from.l[r] * factor[1]);
      into.m[r] = m;
    }
  }

  static void finish(const float* o, float l, int head_dim, float* out) {
    int d = 0;
    for (; d + 16 <= head_dim; d += 16) (L::load(o + d) / L::all(l) + L::all(0.0f)).store(out + d);
    if (d < head_dim) (L::load8(o + d) / L::all(l) + L::all(0.0f)).store8(out + d);
  }

  static void scores(const AttnTile& tile, int64_t begin, const std::byte* const* blocks, float* s, size_t stride,
                     std::byte* memory) {
    const AttnScratch scratch(memory, tile.head_dim);
    const View view(tile, begin);
    if (!view.empty()) {
      with_keys<L>(tile, scratch, [&](const auto& keys) { products(keys, tile, view, blocks, s, stride); });
    }
    for (int r = 0; r < tile.rows && !view.full; ++r) {
      mask_row(s + static_cast<size_t>(r) * stride, kAttnTile / 16, view.lo[r], view.hi[r]);
    }
  }

  static float softmax(float* s, int64_t n, float c) { return exponentials(s, n, largest(s, n), c); }

  static void accumulate(const AttnTile& tile, int64_t begin, const std::byte* const* blocks, const float* p,
                         size_t stride, float* o, std::byte* memory) {
    AttnScratch scratch(memory, tile.head_dim);
    scratch.factor = scratch.ones;
    const View view(tile, begin);
    if (view.empty()) return;
    with_values<L>(tile, scratch,
                   [&](const auto& values) { weighted(values, tile, view, blocks, nullptr, p, stride, scratch, o); });
  }

  static constexpr AttnKernels table() {
    return {store_k, store_v, split, merge, AttnWeights<L>::columns, finish, scores, softmax, accumulate};
  }
};

}  // namespace
}  // namespace toccata::kernels
