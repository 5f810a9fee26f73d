// The loops around the micro-kernels: groups, tiles of tokens, slabs of k.
#pragma once

#include "kernels/x86/avx2/matmul_run.h"
#include "kernels/x86/avx2/matmul_types.h"

namespace toccata::kernels::avx2 {

namespace {

// kTokens tokens times the 16 rows of a group over `blocks` blocks, on top of out (or from zero, if first).
// act and out: of the first token; act at the first block. Strides: bytes of act, floats of out.
template <class W, int kTokens>
void tile(const uint8_t* w, int64_t blocks, const uint8_t* act, size_t act_stride, float* out, size_t out_stride,
          bool first) {
  constexpr int kActBytes = sizeof(typename W::T::Act);
  FloatSums<kTokens> acc;
  for_each<kTokens>([&](auto h, auto t) TOCCATA_LAMBDA {
    const float* from = out + t.value * out_stride + 8 * h.value;
    acc.v[h.value][t.value] = first ? _mm256_setzero_ps() : _mm256_loadu_ps(from);
  });
  for (int64_t b = 0; b < blocks; ++b, w += W::kBytes) {
    if constexpr (W::kRuns == 1) {
      add_run<W, kTokens, false>(w, 0, act, act_stride, acc);
      act += kActBytes;
    } else {
      for (int run = 0; run < W::kRuns; run += 2, act += 2 * kActBytes) {
        add_run<W, kTokens, false>(w, run, act, act_stride, acc);
        add_run<W, kTokens, true>(w, run + 1, act + kActBytes, act_stride, acc);
      }
    }
  }
  for_each<kTokens>([&](auto h, auto t) TOCCATA_LAMBDA {
    _mm256_storeu_ps(out + t.value * out_stride + 8 * h.value, acc.v[h.value][t.value]);
  });
}

constexpr int64_t kMaxTokens = 4;  // of one micro-kernel

// `rows` tokens in strips of nearly equal size, at most kMaxTokens.
template <class W>
void strips(const uint8_t* w, int64_t blocks, const uint8_t* act, size_t act_stride, int64_t rows, float* out,
            size_t out_stride, bool first) {
  int64_t left = rows;
  for (int64_t n = (rows + kMaxTokens - 1) / kMaxTokens; n > 0; --n) {
    const int64_t take = (left + n - 1) / n;
    switch (take) {
      case 1:
        tile<W, 1>(w, blocks, act, act_stride, out, out_stride, first);
        break;
      case 2:
        tile<W, 2>(w, blocks, act, act_stride, out, out_stride, first);
        break;
      case 3:
        tile<W, 3>(w, blocks, act, act_stride, out, out_stride, first);
        break;
      default:
        tile<W, 4>(w, blocks, act, act_stride, out, out_stride, first);
        break;
    }
    act += static_cast<size_t>(take) * act_stride;
    out += static_cast<size_t>(take) * out_stride;
    left -= take;
  }
}

constexpr int64_t kSlab = 512;             // k per pass over the tokens: 9 to 18 KB of weights in L1
constexpr int64_t kTileBytes = 256 << 10;  // of activations, half of L2
constexpr int64_t kMinTile = 32;

// From how many tokens on a panel pays; below, codes are unpacked for each strip. Formats with integer scales multiply
// their sums, not yet the weights, without a panel.
template <class T>
constexpr int64_t kPanelRows = T::kFactors > 0 ? 5 : 17;

// All tokens of a tile times one group.
template <DType kType>
void multiply_group(const uint8_t* group, int64_t cols, const uint8_t* act, size_t act_stride, int64_t rows, float* out,
                    size_t out_stride, uint8_t* panel) {
  using T = Traits<kType>;
  using D = Direct<kType>;
  using P = Panel<ShapeOf<T>>;
  constexpr int64_t kBlocks = kSlab / T::kLayout.elems;
  constexpr int64_t kActBytes = sizeof(typename T::Act) * D::kRuns;
  static_assert(kSlab / 32 * P::kBytes <= static_cast<int64_t>(kMatmulScratchBytes));
  const int64_t blocks = cols / T::kLayout.elems, step = rows <= kMaxTokens ? blocks : kBlocks;
  for (int64_t b = 0; b < blocks; b += step) {
    const int64_t n = blocks - b < step ? blocks - b : step;
    const uint8_t* a = act + b * kActBytes;
    if (rows < kPanelRows<T>) {
      strips<D>(group + b * D::kBytes, n, a, act_stride, rows, out, out_stride, b == 0);
    } else {
      unpack_panel<kType>(group + b * D::kBytes, n, panel);
      strips<P>(panel, n * D::kRuns, a, act_stride, rows, out, out_stride, b == 0);
    }
  }
}

template <DType kType>
void matmul_quant(const PackedMatrix& w, int64_t group_begin, int64_t group_end, const std::byte* act,
                  size_t act_stride, int64_t rows, float* out, size_t out_stride, std::byte* scratch) {
  const auto* groups = reinterpret_cast<const uint8_t*>(w.data);
  const auto* a = reinterpret_cast<const uint8_t*>(act);
  const int64_t fit = kTileBytes / static_cast<int64_t>(act_stride);
  const int64_t tile_rows = fit < kMinTile ? kMinTile : fit / kMaxTokens * kMaxTokens;
  for (int64_t t = 0; t < rows; t += tile_rows) {
    const int64_t n = rows - t < tile_rows ? rows - t : tile_rows;
    for (int64_t g = group_begin; g < group_end; ++g) {
      multiply_group<kType>(groups + static_cast<size_t>(g) * w.group_bytes, w.cols,
                            a + static_cast<size_t>(t) * act_stride, act_stride, n,
                            out + static_cast<size_t>(t) * out_stride + g * kGroupRows, out_stride,
                            reinterpret_cast<uint8_t*>(scratch));
    }
  }
}

}  // namespace
}  // namespace toccata::kernels::avx2
