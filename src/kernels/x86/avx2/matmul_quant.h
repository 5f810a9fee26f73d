// The loops around the micro-kernels: groups, tiles of tokens, slabs of k.
#pragma once

#include <string.h>

#include "kernels/x86/avx2/matmul_tile.h"

namespace toccata::kernels::avx2 {

namespace {

// Arguments that stay the same for all tiles of a call.
struct Job {
  const uint8_t* act;
  size_t act_stride;  // bytes
  float* out;
  size_t out_stride;  // floats
};

// kTokens tokens times the 16 rows of a group over `blocks` blocks, on top of out (or from zero, if first).
// act and out: of the first token; act at the first block.
template <DType kType, class W, int kHalves, int kTokens>
void tile(const uint8_t* w, int64_t blocks, const uint8_t* act, size_t act_stride, float* out, size_t out_stride,
          bool first) {
  using T = Traits<kType>;
  constexpr int kActBytes = T::kLayout.elems == 32 ? sizeof(ActBlock32) : sizeof(ActBlock256);
  for (int half = 0; half < 2; half += kHalves, out += 8) {
    __m256 acc[kHalves][kTokens];
    unroll<0, kHalves * kTokens>([&](auto i) TOCCATA_LAMBDA {
      constexpr int h = i.value / kTokens, t = i.value % kTokens;
      acc[h][t] = first ? _mm256_setzero_ps() : _mm256_loadu_ps(out + t * out_stride + 8 * h);
    });
    const uint8_t* block = w + half * W::kHalfBytes;
    const uint8_t* codes = w + W::kCodes + half * 32;
    const uint8_t* a = act;
    for (int64_t b = 0; b < blocks; ++b, block += W::kBlockBytes, codes += W::kBlockBytes, a += kActBytes) {
      if constexpr (T::kLayout.elems == 32) {
        add_block32<W, T, kHalves, kTokens>(block, codes, a, act_stride, acc);
      } else {
        add_block256<W, T, kHalves, kTokens>(block, codes, a, act_stride, acc);
      }
    }
    unroll<0, kHalves * kTokens>([&](auto i) TOCCATA_LAMBDA {
      constexpr int h = i.value / kTokens, t = i.value % kTokens;
      _mm256_storeu_ps(out + t * out_stride + 8 * h, acc[h][t]);
    });
  }
}

constexpr int kMaxTokens = 8;  // of one micro-kernel

template <DType kType, class W>
void any_tile(int tokens, const uint8_t* w, int64_t blocks, const uint8_t* act, size_t act_stride, float* out,
              size_t out_stride, bool first) {
  switch (tokens) {
    case 1: return tile<kType, W, 2, 1>(w, blocks, act, act_stride, out, out_stride, first);
    case 2: return tile<kType, W, 2, 2>(w, blocks, act, act_stride, out, out_stride, first);
    case 3: return tile<kType, W, 2, 3>(w, blocks, act, act_stride, out, out_stride, first);
    case 4: return tile<kType, W, 2, 4>(w, blocks, act, act_stride, out, out_stride, first);
    case 5: return tile<kType, W, 1, 5>(w, blocks, act, act_stride, out, out_stride, first);
    case 6: return tile<kType, W, 1, 6>(w, blocks, act, act_stride, out, out_stride, first);
    case 7: return tile<kType, W, 1, 7>(w, blocks, act, act_stride, out, out_stride, first);
    default: return tile<kType, W, 1, 8>(w, blocks, act, act_stride, out, out_stride, first);
  }
}

// `rows` tokens in strips of nearly equal size, at most kMaxTokens.
template <DType kType, class W>
void strips(const uint8_t* w, int64_t blocks, const uint8_t* act, size_t act_stride, int64_t rows, float* out,
            size_t out_stride, bool first) {
  int64_t left = rows;
  for (int64_t n = (rows + kMaxTokens - 1) / kMaxTokens; n > 0; --n) {
    const int64_t take = (left + n - 1) / n;
    any_tile<kType, W>(static_cast<int>(take), w, blocks, act, act_stride, out, out_stride, first);
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

constexpr int64_t kSlab = 512;            // k per panel
constexpr int64_t kDirectRows = 16;       // up to here codes are unpacked for each strip of tokens
constexpr int64_t kTileBytes = 256 << 10; // of activations, half of L2
constexpr int64_t kMinTile = 32;

template <DType kType>
void matmul_group_panels(const PackedMatrix& w, const uint8_t* group, const Job& job, int64_t rows, uint8_t* panel) {
  using T = Traits<kType>;
  using P = Panel<kType>;
  constexpr int64_t kBlocks = kSlab / T::kLayout.elems;
  constexpr int kActBytes = T::kLayout.elems == 32 ? sizeof(ActBlock32) : sizeof(ActBlock256);
  static_assert(kBlocks * P::kBlockBytes <= static_cast<int64_t>(kMatmulScratchBytes));
  const int64_t blocks = w.cols / T::kLayout.elems;
  for (int64_t b = 0; b < blocks; b += kBlocks) {
    const int64_t n = blocks - b < kBlocks ? blocks - b : kBlocks;
    unpack_panel<kType>(group + b * T::kLayout.bytes, n, panel);
    strips<kType, P>(panel, n, job.act + b * kActBytes, job.act_stride, rows, job.out, job.out_stride, b == 0);
  }
}

template <DType kType>
void matmul_quant(const PackedMatrix& w, int64_t group_begin, int64_t group_end, const std::byte* act,
                  size_t act_stride, int64_t rows, float* out, size_t out_stride, std::byte* scratch) {
  const auto* groups = reinterpret_cast<const uint8_t*>(w.data);
  const auto* a = reinterpret_cast<const uint8_t*>(act);
  const int64_t blocks = w.cols / Traits<kType>::kLayout.elems;
  const int64_t fit = kTileBytes / static_cast<int64_t>(act_stride);
  const int64_t tile_rows = rows <= kDirectRows ? rows : fit < kMinTile ? kMinTile : fit;
  for (int64_t t = 0; t < rows; t += tile_rows) {
    const int64_t n = rows - t < tile_rows ? rows - t : tile_rows;
    for (int64_t g = group_begin; g < group_end; ++g) {
      const uint8_t* group = groups + static_cast<size_t>(g) * w.group_bytes;
      const Job job = {a + static_cast<size_t>(t) * act_stride, act_stride,
                       out + static_cast<size_t>(t) * out_stride + g * kGroupRows, out_stride};
      if (n <= kDirectRows) {
        strips<kType, Direct<kType>>(group, blocks, job.act, act_stride, n, job.out, out_stride, true);
      } else {
        matmul_group_panels<kType>(w, group, job, n, reinterpret_cast<uint8_t*>(scratch));
      }
    }
  }
}

}  // namespace
}  // namespace toccata::kernels::avx2
