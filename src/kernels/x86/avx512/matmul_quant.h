// The micro-kernels of the quantised formats, as kernels/x86/matmul_loops.h wants them.
#pragma once

#include "kernels/x86/avx512/matmul_run.h"
#include "kernels/x86/avx512/matmul_types.h"
#include "kernels/x86/matmul_loops.h"

namespace toccata::kernels::avx512 {
namespace {

struct Tiles {
  template <DType kType>
  using Direct = avx512::Direct<kType>;
  template <class S>
  using Panel = avx512::Panel<S>;

  // 8 tokens: vpdpbusd and vpdpwssd have a latency of 5 and two start each cycle, so 8 chains of int32 sums fall short
  // of the 10 that hide it, but those of the next run depend on nothing and fill the gaps. 8 int32 sums, 8 float sums,
  // the weights, a broadcast and the scales are 20 to 22 of the 32 registers. A quad costs 9 loads for 8 products; the
  // two load ports keep up because of what a token's run costs besides its 8 products: starting the sums where the
  // format has a centre, converting and scaling them, and the minimum are 4 instructions on the ports of the products.
  static constexpr int kMaxTokens = 8;

  // A panel pays as soon as a second strip uses it. Unpacking a quad costs 1 (4 bits) to 12 (Q6_K) instructions, once
  // for the panel or once for each strip; the panel's own cost, a store and a load a quad, goes to other ports.
  template <class T>
  static constexpr int64_t panel_rows() {
    return kMaxTokens + 1;
  }

  template <DType kType>
  static void unpack(const uint8_t* w, int64_t blocks, uint8_t* panel) {
    unpack_panel<kType>(w, blocks, panel);
  }

  template <class W, int kTokens>
  static void tile(const uint8_t* w, int64_t blocks, const uint8_t* act, size_t act_stride, float* out,
                   size_t out_stride, bool first) {
    constexpr int kActBytes = sizeof(typename W::T::Act);
    __m512 acc[kTokens];
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      acc[t] = first ? _mm512_setzero_ps() : _mm512_loadu_ps(out + static_cast<size_t>(t) * out_stride);
    }
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
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) _mm512_storeu_ps(out + static_cast<size_t>(t) * out_stride, acc[t]);
  }
};

}  // namespace
}  // namespace toccata::kernels::avx512
