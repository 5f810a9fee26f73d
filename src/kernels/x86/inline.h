// What keeps the kernels' inner loops in registers. Internal linkage throughout, as everything here.
#pragma once

#define TOCCATA_INLINE inline __attribute__((always_inline))
#define TOCCATA_LAMBDA __attribute__((always_inline))
#define TOCCATA_NOINLINE __attribute__((noinline))  // where dozens of kernels would be copied to each call

namespace toccata::kernels {
namespace {

template <int kValue>
struct Int {
  static constexpr int value = kValue;
};

// body(Int<kBegin>) ... body(Int<kEnd - 1>), unrolled.
template <int kBegin, int kEnd, class Body>
TOCCATA_INLINE void unroll(Body&& body) {
  if constexpr (kBegin < kEnd) {
    body(Int<kBegin>{});
    unroll<kBegin + 1, kEnd>(body);
  }
}

}  // namespace
}  // namespace toccata::kernels
