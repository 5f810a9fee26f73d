// Kernels that do nothing but reach a machine's limits: what `toccata bench` prints beside its figures.
//
// Each set measures what its own instructions can do, so the limit belongs to the kernels that ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace toccata::kernels {

inline constexpr size_t kPeakReadStep = 512;  // bytes

struct PeakKernels {
  // Reads every byte of [data, data + bytes), 64-byte aligned, bytes a multiple of kPeakReadStep. The result depends
  // on all of them.
  uint64_t (*read)(const std::byte* data, size_t bytes);

  // `rounds` rounds of products in registers, with as many independent chains as hide the latency; a multiplication
  // and an addition are two operations. The result keeps the work from being removed.
  uint64_t (*int8_rounds)(int64_t rounds);
  int64_t int8_ops;  // per round
  float (*f32_rounds)(int64_t rounds);
  int64_t f32_ops;
};

// The peak kernels of a set of kernels/dispatch.h; an unknown name gives the generic ones.
const PeakKernels& peak_kernels(std::string_view isa);

}  // namespace toccata::kernels
