// The loops around the micro-kernels: groups, tiles of tokens, slabs of k.
#pragma once

#include <string.h>

#include "kernels/x86/avx2/matmul_tile.h"
#include "kernels/x86/avx2/matmul_types.h"

namespace toccata::kernels::avx2 {

namespace {

// kTokens tokens times the 16 rows of a group over `blocks` blocks, on top of out (or from zero, if first).
// act and out: of the first token; act at the first block. Strides: bytes of act, floats of out.
template <DType kType, class W, int kTokens>
void tile(const uint8_t* w, int64_t blocks, const uint8_t* act, size_t act_stride, float* out, size_t out_stride,
          bool first) {
  using T = Traits<kType>;
  constexpr int kActBytes = T::kLayout.elems == 32 ? sizeof(ActBlock32) : sizeof(ActBlock256);
  FloatSums<kTokens> acc;
  for_each<kTokens>([&](auto h, auto t) TOCCATA_LAMBDA {
    const float* from = out + t.value * out_stride + 8 * h.value;
    acc.v[h.value][t.value] = first ? _mm256_setzero_ps() : _mm256_loadu_ps(from);
  });
  for (int64_t b = 0; b < blocks; ++b, w += W::kBlockBytes, act += kActBytes) {
    keep_in_memory(acc);
    if constexpr (T::kLayout.elems == 32) {
      add_block32<W, T, kTokens>(w, w + W::kCodes, act, act_stride, acc);
    } else {
      add_block256<W, T, kTokens>(w, w + W::kCodes, act, act_stride, acc);
    }
  }
  for_each<kTokens>([&](auto h, auto t) TOCCATA_LAMBDA {
    _mm256_storeu_ps(out + t.value * out_stride + 8 * h.value, acc.v[h.value][t.value]);
  });
}

constexpr int64_t kMaxTokens = 4;  // of one micro-kernel

// `rows` tokens in strips of nearly equal size, at most kMaxTokens.
template <DType kType, class W>
void strips(const uint8_t* w, int64_t blocks, const uint8_t* act, size_t act_stride, int64_t rows, float* out,
            size_t out_stride, bool first) {
  int64_t left = rows;
  for (int64_t n = (rows + kMaxTokens - 1) / kMaxTokens; n > 0; --n) {
    const int64_t take = (left + n - 1) / n;
    switch (take) {
      case 1:
        tile<kType, W, 1>(w, blocks, act, act_stride, out, out_stride, first);
        break;
      case 2:
        tile<kType, W, 2>(w, blocks, act, act_stride, out, out_stride, first);
        break;
      case 3:
        tile<kType, W, 3>(w, blocks, act, act_stride, out, out_stride, first);
        break;
      default:
        tile<kType, W, 4>(w, blocks, act, act_stride, out, out_stride, first);
        break;
    }
    act += static_cast<size_t>(take) * act_stride;
    out += static_cast<size_t>(take) * out_stride;
    left -= take;
  }
}

// Panel copy of `blocks` packed blocks.
template <DType kType>
void unpack_panel(const uint8_t* w, int64_t blocks, uint8_t* panel) {
  using T = Traits<kType>;
  using D = Direct<kType>;
  using P = Panel<kType>;
  constexpr PackLayout p = T::kLayout;
  for (int64_t b = 0; b < blocks; ++b, w += D::kBlockBytes, panel += P::kBlockBytes) {
    for (int half = 0; half < 2; ++half) {
      store256(panel + 32 * half, _mm256_castps_si256(D::scale(w, half)));
      if constexpr (T::kMin) store256(panel + P::kMinAt + 32 * half, _mm256_castps_si256(D::min(w, half)));
      for (int pair = 0; pair < p.subs / 2; ++pair) {
        if constexpr (p.subs > 0) {
          uint8_t* scales = panel + P::kSubScale + 128 * pair + 32 * half;
          store256(scales, D::template sub_scale<false>(w, half, pair));
          store256(scales + 64, D::template sub_scale<true>(w, half, pair));
          if constexpr (T::kMin) store256(panel + P::kSubMin + 64 * pair + 32 * half, D::sub_min(w, half, pair));
        }
      }
      for (int run = 0; run < p.elems / 32; ++run) {
        const uint8_t* from = w + D::kCodes + run * D::kRunBytes + 32 * half;
        uint8_t* to = panel + P::kCodes + run * P::kRunBytes + 32 * half;
        unroll<0, 8>([&](auto q) TOCCATA_LAMBDA { store256(to + 64 * q.value, D::template quad<q.value>(from)); });
      }
    }
  }
}

constexpr int64_t kSlab = 512;             // k per pass over the tokens: 5 to 10 KB of weights in L1
constexpr int64_t kPanelRows = 17;         // from here a panel pays, below codes are unpacked for each strip
constexpr int64_t kTileBytes = 256 << 10;  // of activations, half of L2
constexpr int64_t kMinTile = 32;

// All tokens of a tile times one group.
template <DType kType>
void multiply_group(const uint8_t* group, int64_t cols, const uint8_t* act, size_t act_stride, int64_t rows, float* out,
                    size_t out_stride, uint8_t* panel) {
  constexpr PackLayout p = Traits<kType>::kLayout;
  constexpr int64_t kBlocks = kSlab / p.elems;
  constexpr int64_t kActBytes = p.elems == 32 ? sizeof(ActBlock32) : sizeof(ActBlock256);
  static_assert(kBlocks * Panel<kType>::kBlockBytes <= static_cast<int64_t>(kMatmulScratchBytes));
  const int64_t blocks = cols / p.elems, step = rows <= kMaxTokens ? blocks : kBlocks;
  for (int64_t b = 0; b < blocks; b += step) {
    const int64_t n = blocks - b < step ? blocks - b : step;
    const uint8_t* a = act + b * kActBytes;
    if (rows < kPanelRows) {
      strips<kType, Direct<kType>>(group + b * p.bytes, n, a, act_stride, rows, out, out_stride, b == 0);
    } else {
      unpack_panel<kType>(group + b * p.bytes, n, panel);
      strips<kType, Panel<kType>>(panel, n, a, act_stride, rows, out, out_stride, b == 0);
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
