#include "kernels/matmul.h"

#include "kernels/x86/avx2/matmul_types.h"

namespace toccata::kernels::avx2 {
namespace {

MatmulFn select(DType type) {
  switch (type) {
    case DType::kF32:
      return matmul_f32;
    case DType::kF16:
      return matmul_f16;
    case DType::kBF16:
      return matmul_bf16;
    case DType::kQ8_0:
      return matmul_q8_0;
    case DType::kQ4_0:
      return matmul_q4_0;
    case DType::kQ4_1:
      return matmul_q4_1;
    case DType::kQ5_0:
      return matmul_q5_0;
    case DType::kQ5_1:
      return matmul_q5_1;
    case DType::kQ2_K:
      return matmul_q2_k;
    case DType::kQ3_K:
      return matmul_q3_k;
    case DType::kQ4_K:
      return matmul_q4_k;
    case DType::kQ5_K:
      return matmul_q5_k;
    case DType::kQ6_K:
      return matmul_q6_k;
    case DType::kIQ4_NL:
      return matmul_iq4_nl;
    case DType::kIQ4_XS:
      return matmul_iq4_xs;
    case DType::kMXFP4:
      return matmul_mxfp4;
  }
  return matmul_f32;
}

void matmul(const PackedMatrix& w, int64_t group_begin, int64_t group_end, const std::byte* act, size_t act_stride,
            int64_t rows, float* out, size_t out_stride, std::byte* scratch) {
  if (rows > 0) select(w.type)(w, group_begin, group_end, act, act_stride, rows, out, out_stride, scratch);
}

}  // namespace

const MatmulKernels kMatmul = {quantize_act, matmul};

}  // namespace toccata::kernels::avx2
