// The loops around the micro-kernels: groups, tiles of tokens, slabs of k, strips of tokens. K holds the micro-kernels
// of an instruction set:
//   Direct<kType>        weights of a packed block; kBytes, kRuns of a block
//   Panel<Shape>         weights unpacked to a scratch panel; kBytes of a run
//   tile<W, kTokens>     kTokens tokens times the 16 rows of a group
//   unpack<kType>        the panel of some blocks
//   kMaxTokens           of a tile
//   panel_rows<Traits>   from how many tokens on a panel pays, more than kMaxTokens; below, codes are unpacked for
//                        each strip
#pragma once

#include "kernels/matmul.h"
#include "kernels/x86/inline.h"
#include "kernels/x86/matmul_traits.h"

namespace toccata::kernels {
namespace {

// The tile of `take` tokens, kFewest <= take <= kTokens.
template <class K, class W, int kFewest, int kTokens = K::kMaxTokens>
void strip(int64_t take, const uint8_t* w, int64_t blocks, const uint8_t* act, size_t act_stride, float* out,
           size_t out_stride, bool first) {
  if constexpr (kTokens > kFewest) {
    if (take < kTokens) {
      return strip<K, W, kFewest, kTokens - 1>(take, w, blocks, act, act_stride, out, out_stride, first);
    }
  }
  K::template tile<W, kTokens>(w, blocks, act, act_stride, out, out_stride, first);
}

// `rows` tokens times the 16 rows of a group over `blocks` blocks, on top of out (or from zero, if first), in strips
// of nearly equal size. act and out: of the first token; act at the first block. Strides: bytes of act, floats of out.
template <class K, class W, int kFewest>
void strips(const uint8_t* w, int64_t blocks, const uint8_t* act, size_t act_stride, int64_t rows, float* out,
            size_t out_stride, bool first) {
  int64_t left = rows;
  for (int64_t n = (rows + K::kMaxTokens - 1) / K::kMaxTokens; n > 0; --n) {
    const int64_t take = (left + n - 1) / n;
    strip<K, W, kFewest>(take, w, blocks, act, act_stride, out, out_stride, first);
    act += static_cast<size_t>(take) * act_stride;
    out += static_cast<size_t>(take) * out_stride;
    left -= take;
  }
}

constexpr int64_t kSlab = 512;             // k per pass over the tokens: 9 to 18 KB of weights in L1
constexpr int64_t kTileBytes = 256 << 10;  // of activations, half of an L2 of 512 KB
constexpr int64_t kMinTile = 32;

// All tokens of a tile times one group.
template <class K, DType kType>
void multiply_group(const uint8_t* group, int64_t cols, const uint8_t* act, size_t act_stride, int64_t rows, float* out,
                    size_t out_stride, uint8_t* panel) {
  using T = Traits<kType>;
  using D = typename K::template Direct<kType>;
  using P = typename K::template Panel<ShapeOf<T>>;
  constexpr int64_t kBlocks = kSlab / T::kLayout.elems;
  constexpr int64_t kActBytes = sizeof(typename T::Act) * D::kRuns;
  constexpr int64_t kPanelRows = K::template panel_rows<T>();
  // Strips of equal size are at least half full where there are several.
  static_assert(kPanelRows > K::kMaxTokens);
  constexpr int kFewest = (K::kMaxTokens + 1) / 2;
  static_assert(kSlab / 32 * P::kBytes <= static_cast<int64_t>(kMatmulScratchBytes));
  const int64_t blocks = cols / T::kLayout.elems, step = rows <= K::kMaxTokens ? blocks : kBlocks;
  for (int64_t b = 0; b < blocks; b += step) {
    const int64_t n = blocks - b < step ? blocks - b : step;
    const uint8_t* a = act + b * kActBytes;
    if (rows < kPanelRows) {
      strips<K, D, 1>(group + b * D::kBytes, n, a, act_stride, rows, out, out_stride, b == 0);
    } else {
      K::template unpack<kType>(group + b * D::kBytes, n, panel);
      strips<K, P, kFewest>(panel, n * D::kRuns, a, act_stride, rows, out, out_stride, b == 0);
    }
  }
}

template <class K, DType kType>
void matmul_quant(const PackedMatrix& w, int64_t group_begin, int64_t group_end, const std::byte* act,
                  size_t act_stride, int64_t rows, float* out, size_t out_stride, std::byte* scratch) {
  const auto* groups = reinterpret_cast<const uint8_t*>(w.data);
  const auto* a = reinterpret_cast<const uint8_t*>(act);
  const int64_t fit = kTileBytes / static_cast<int64_t>(act_stride);
  const int64_t tile_rows = fit < kMinTile ? kMinTile : fit / K::kMaxTokens * K::kMaxTokens;
  for (int64_t t = 0; t < rows; t += tile_rows) {
    const int64_t n = rows - t < tile_rows ? rows - t : tile_rows;
    for (int64_t g = group_begin; g < group_end; ++g) {
      multiply_group<K, kType>(groups + static_cast<size_t>(g) * w.group_bytes, w.cols,
                               a + static_cast<size_t>(t) * act_stride, act_stride, n,
                               out + static_cast<size_t>(t) * out_stride + g * kGroupRows, out_stride,
                               reinterpret_cast<uint8_t*>(scratch));
    }
  }
}

}  // namespace
}  // namespace toccata::kernels
