// The products of each weight type, spread over several units so that they compile in parallel.
#pragma once

#include "kernels/matmul.h"

namespace toccata::kernels::avx512 {

using MatmulFn = decltype(MatmulKernels::matmul);

extern const MatmulFn matmul_f32, matmul_f16, matmul_bf16;
extern const MatmulFn matmul_q4_0, matmul_q4_1, matmul_q5_0, matmul_q5_1, matmul_q8_0, matmul_iq4_nl, matmul_mxfp4;
extern const MatmulFn matmul_q2_k, matmul_q3_k, matmul_q4_k, matmul_q5_k, matmul_q6_k, matmul_iq4_xs;

void quantize_act(ActKind kind, const float* x, int64_t cols, std::byte* dst);

}  // namespace toccata::kernels::avx512
