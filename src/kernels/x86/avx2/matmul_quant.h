// The micro-kernels of the quantised formats, as kernels/x86/matmul_loops.h wants them.
#pragma once

#include "kernels/x86/avx2/matmul_run.h"
#include "kernels/x86/avx2/matmul_types.h"
#include "kernels/x86/matmul_loops.h"

namespace toccata::kernels::avx2 {
namespace {

struct Tiles {
  template <DType kType>
  using Direct = avx2::Direct<kType>;
  template <class S>
  using Panel = avx2::Panel<S>;

  static constexpr int kMaxTokens = 4;

  // Formats with integer scales multiply their sums, not yet the weights, without a panel.
  template <class T>
  static constexpr int64_t panel_rows() {
    return T::kFactors > 0 ? 5 : 17;
  }

  template <DType kType>
  static void unpack(const uint8_t* w, int64_t blocks, uint8_t* panel) {
    unpack_panel<kType>(w, blocks, panel);
  }

  template <class W, int kTokens>
  static void tile(const uint8_t* w, int64_t blocks, const uint8_t* act, size_t act_stride, float* out,
                   size_t out_stride, bool first) {
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
};

}  // namespace
}  // namespace toccata::kernels::avx2
