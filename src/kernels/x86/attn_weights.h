// What a split leaves of its weights, and their sums over the queries (columns() in kernels/attn.h).
#pragma once

#include "kernels/x86/attn_view.h"

namespace toccata::kernels {
namespace {

constexpr float kNone = -__builtin_inff();

// (from - to) c, to = -inf counting as 0.
TOCCATA_INLINE float score_exponent(float from, float to, float c) { return (from - (to == kNone ? 0.0f : to)) * c; }

template <class L>
struct AttnWeights {
  // The softmax has left p in place, but for the panels that a row does not see.
  static void keep(const AttnTile& tile, const View& view, int t, const AttnState& state) {
    float* p = tile.p + t * tile.rows * kAttnTile;
    for (int r = 0; r < tile.rows; ++r, p += kAttnTile) {
      tile.p_max[t * tile.rows + r] = state.m[r];
      const int first = view.sees_none(r) ? kAttnTile / 16 : view.first_panel(r);
      const int end = view.sees_none(r) ? kAttnTile / 16 : view.end_panel(r);
      for (int panel = 0; panel < kAttnTile / 16; ++panel) {
        if (panel < first || panel >= end) L::all(0.0f).store(p + 16 * panel);
      }
    }
  }

  static void columns(const AttnTile& tile, int t, const float* m, const float* l, int keys, float* w, float* sum) {
    const float* p_max = tile.p_max + t * tile.rows;
    for (int r = 0; r < tile.rows; r += 16) {
      alignas(64) float x[16] = {}, divisor[16] = {};
      for (int i = 0; i < 16; ++i) divisor[i] = 1.0f;
      for (int i = 0; i < 16 && r + i < tile.rows; ++i) {
        x[i] = score_exponent(p_max[r + i], m[r + i], tile.c);
        divisor[i] = l[r + i];
      }
      (exp2_poly(L::load(x)) / L::load(divisor)).store(w + r);
    }
    const float* p = tile.p + t * tile.rows * kAttnTile;
    for (int j = 0; j < keys; j += 32) {  // two chains, as one waits for itself
      L low = L::load(sum + j), high = L::load(sum + j + 16);
      for (int r = 0; r < tile.rows; ++r) {
        const L weight = L::all(w[r]);
        low = L::fma(L::load(p + r * kAttnTile + j), weight, low);
        high = L::fma(L::load(p + r * kAttnTile + j + 16), weight, high);
      }
      low.store(sum + j);
      high.store(sum + j + 16);
    }
  }
};

}  // namespace
}  // namespace toccata::kernels
