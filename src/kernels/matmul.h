// Matrix products with packed (row-interleaved) weights: the API and the rules of its arithmetic.
//
// out[t][n] = sum over k of act[t][k] * W[n][k], for t in [0, rows), n in [0, W.rows).
//
// Weights are packed once at load into groups of 16 output rows. Lanes of a vector are output rows, so no
// sum ever crosses lanes, and one element's value is one chain over k in ascending block order. That chain
// is the same for every row count, tile, thread count and instruction set:
//
//   quantised formats, runs of 32 elements b ascending:
//     acc = fma(ds[b] * da[b], float(isum[b]), acc)
//     acc = fma(dm[b], da[b] * float(asum[b]), acc)          only formats with a minimum; Q2_K: for each 16 elements
//   isum: the exact integer sum of value * qa over the run, values centred where the format has an offset, and
//   multiplied by the sub-block's integer scale in Q6_K Q3_K Q2_K IQ4_XS. ds: the block's scale; in Q4_K Q5_K times the
//   integer scale of the run. dm: the block's minimum (Q4_1 Q5_1), or minus its scale of minima times the sub-block's
//   integer. These products of a scale with an integer are exact in f32. qa, da: kernels/act_layout.h; asum = sum of
//   qa. F32 F16 BF16, activations f32, k ascending:  acc = fma(float(w[k]), a[k], acc)
//
// acc starts at +0. Products written a * b are rounded to f32 before the fma. float(int32) rounds to nearest.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace toccata::kernels {

inline constexpr int kGroupRows = 16;  // output rows per packed group

enum class ActKind : uint8_t { kF32, kQ8, kQ16 };
inline constexpr int kActKinds = 3;

// Activation form that a weight type is multiplied with.
ActKind act_kind(DType weight);

// Bytes of one activation row; a multiple of 64. cols: a multiple of 32 unless kF32. A row holds
// everything a product needs (codes, scales, sums) and depends on that token only. Layout: kernels/act_layout.h.
size_t act_row_bytes(ActKind kind, int64_t cols);

// A packed weight matrix; does not own its memory.
struct PackedMatrix {
  DType type = DType::kF32;
  int64_t rows = 0;        // output rows (without padding)
  int64_t cols = 0;        // k
  size_t group_bytes = 0;  // packed_group_bytes(type, cols), a multiple of 64
  const std::byte* data = nullptr;
  int64_t groups() const { return (rows + kGroupRows - 1) / kGroupRows; }
  int64_t padded_rows() const { return groups() * kGroupRows; }
};

size_t packed_group_bytes(DType type, int64_t cols);

// Packs rows [16 g, 16 g + valid) of a GGUF matrix into one group; missing rows become zeros.
// src points at row 16 g, rows are row_bytes(type, cols) apart.
void pack_group(DType type, const std::byte* src, int64_t cols, int64_t valid, std::byte* dst);

// One row as f32, equal to dequantize_row() of the original bit for bit (embedding lookup).
void unpack_row(const PackedMatrix& w, int64_t row, float* dst);

struct MatmulKernels {
  // x: cols floats -> one activation row at dst (act_row_bytes). Per run of 32: scale d = amax / most, with most = 127
  // (kQ8) or 16383 (kQ16), codes = x * (most / amax) rounded to nearest even; a run of zeros has d = 0.
  void (*quantize_act)(ActKind kind, const float* x, int64_t cols, std::byte* dst);

  // Groups [group_begin, group_end) of W times `rows` activation rows (act_stride bytes apart; see act_kind).
  // Writes out[t * out_stride + 16 * g + i], i in [0, 16): out rows are padded_rows() wide (floats).
  // scratch: private to the thread, matmul_scratch_bytes().
  void (*matmul)(const PackedMatrix& w, int64_t group_begin, int64_t group_end, const std::byte* act, size_t act_stride,
                 int64_t rows, float* out, size_t out_stride, std::byte* scratch);
};

// Scratch that one thread needs for any matmul; independent of the shapes.
inline constexpr size_t kMatmulScratchBytes = size_t{256} * 1024;

// The tables of the instruction sets that were built in; use kernels/dispatch.h to choose one.
namespace generic {
extern const MatmulKernels kMatmul;
}
namespace avx2 {
extern const MatmulKernels kMatmul;
}
namespace avx512 {
extern const MatmulKernels kMatmul;
}

}  // namespace toccata::kernels
