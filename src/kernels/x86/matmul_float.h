// Products with F32, F16 and BF16 weights: lanes (vec_lanes.h of a set) are output rows, one fma per k.
#pragma once

#include "kernels/x86/matmul_loops.h"
#include "kernels/x86/vec_half.h"

namespace toccata::kernels {
namespace {

template <DType kType>
struct FloatWeights {
  static constexpr DType kElement = kType;
};

// 16 rows times kTokens tokens over k, as the K of strips(). L::kFloatTokens tokens are enough chains for fma's
// latency.
template <class L>
struct FloatTiles {
  static constexpr int kMaxTokens = L::kFloatTokens;

  template <class W, int kTokens>
  static void tile(const uint8_t* w, int64_t cols, const uint8_t* act, size_t act_stride, float* out, size_t out_stride,
                   bool first) {
    constexpr int kBytes = pack_layout(W::kElement).bytes;
    L acc[kTokens];
    unroll<0, kTokens>(
        [&](auto t) TOCCATA_LAMBDA { acc[t.value] = first ? L::all(0.0f) : L::load(out + t.value * out_stride); });
    for (int64_t k = 0; k < cols; ++k, w += kBytes, act += sizeof(float)) {
      const L weights = L::widen(reinterpret_cast<const std::byte*>(w), 0, W::kElement);
      unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA {
        const float a = *reinterpret_cast<const float*>(act + t.value * act_stride);
        acc[t.value] = L::fma(weights, L::all(a), acc[t.value]);
      });
    }
    unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA { acc[t.value].store(out + t.value * out_stride); });
  }
};

constexpr int64_t kFloatSlab = 256;      // k per pass: 16 KB of f32 weights, 6 KB of activations in L1
constexpr int64_t kFloatTile = 96;       // tokens
constexpr int64_t kFloatPanelRows = 24;  // from here 16-bit weights are widened once per slab and not once per strip

template <class L, DType kType>
void matmul_slab(const uint8_t* w, int64_t cols, const uint8_t* act, size_t act_stride, int64_t rows, float* out,
                 size_t out_stride, bool first, float* panel) {
  if (kType == DType::kF32 || rows < kFloatPanelRows) {
    return strips<FloatTiles<L>, FloatWeights<kType>, 1>(w, cols, act, act_stride, rows, out, out_stride, first);
  }
  for (int64_t k = 0; k < cols; ++k) {
    L::widen(reinterpret_cast<const std::byte*>(w), static_cast<size_t>(16 * k), kType).store(panel + 16 * k);
  }
  strips<FloatTiles<L>, FloatWeights<DType::kF32>, 1>(reinterpret_cast<const uint8_t*>(panel), cols, act, act_stride,
                                                      rows, out, out_stride, first);
}

template <class L, DType kType>
void matmul_float(const PackedMatrix& w, int64_t group_begin, int64_t group_end, const std::byte* act,
                  size_t act_stride, int64_t rows, float* out, size_t out_stride, std::byte* scratch) {
  const auto* groups = reinterpret_cast<const uint8_t*>(w.data);
  const auto* a = reinterpret_cast<const uint8_t*>(act);
  const int64_t slab = rows <= L::kFloatTokens ? w.cols : kFloatSlab;
  for (int64_t t = 0; t < rows; t += kFloatTile) {
    const int64_t n = rows - t < kFloatTile ? rows - t : kFloatTile;
    for (int64_t g = group_begin; g < group_end; ++g) {
      const uint8_t* group = groups + static_cast<size_t>(g) * w.group_bytes;
      float* o = out + static_cast<size_t>(t) * out_stride + g * kGroupRows;
      for (int64_t k = 0; k < w.cols; k += slab) {
        const int64_t part = w.cols - k < slab ? w.cols - k : slab;
        const uint8_t* x = a + static_cast<size_t>(t) * act_stride + static_cast<size_t>(k) * sizeof(float);
        matmul_slab<L, kType>(group + k * pack_layout(kType).bytes, part, x, act_stride, n, o, out_stride, k == 0,
                              reinterpret_cast<float*>(scratch));
      }
    }
  }
}

}  // namespace
}  // namespace toccata::kernels
