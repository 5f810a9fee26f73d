#include "kernels/matmul.h"

#include "kernels/x86/avx512/matmul_types.h"

namespace toccata::kernels::avx512 {
namespace {

// In the order of DType.
const MatmulFn* const kByType[] = {&matmul_f32,  &matmul_f16,    &matmul_bf16,   &matmul_q8_0,
                                   &matmul_q4_0, &matmul_q4_1,   &matmul_q5_0,   &matmul_q5_1,
                                   &matmul_q2_k, &matmul_q3_k,   &matmul_q4_k,   &matmul_q5_k,
                                   &matmul_q6_k, &matmul_iq4_nl, &matmul_iq4_xs, &matmul_mxfp4};
static_assert(sizeof(kByType) / sizeof(kByType[0]) == kDTypeCount);

void matmul(const PackedMatrix& w, int64_t group_begin, int64_t group_end, const std::byte* act, size_t act_stride,
            int64_t rows, float* out, size_t out_stride, std::byte* scratch) {
  const MatmulFn run = *kByType[static_cast<int>(w.type)];
  if (rows > 0) run(w, group_begin, group_end, act, act_stride, rows, out, out_stride, scratch);
}

}  // namespace

const MatmulKernels kMatmul = {quantize_act, matmul};

}  // namespace toccata::kernels::avx512
