// Products with the formats of 256-element super-blocks.
#include "kernels/x86/avx2/matmul_quant.h"
#include "kernels/x86/avx2/matmul_types.h"

namespace toccata::kernels::avx2 {

const MatmulFn matmul_q2_k = matmul_quant<DType::kQ2_K>;
const MatmulFn matmul_q3_k = matmul_quant<DType::kQ3_K>;
const MatmulFn matmul_q4_k = matmul_quant<DType::kQ4_K>;
const MatmulFn matmul_q5_k = matmul_quant<DType::kQ5_K>;
const MatmulFn matmul_q6_k = matmul_quant<DType::kQ6_K>;
const MatmulFn matmul_iq4_xs = matmul_quant<DType::kIQ4_XS>;

}  // namespace toccata::kernels::avx2
