// Products with the formats of 32-element blocks.
#include "kernels/x86/avx2/matmul_quant.h"
#include "kernels/x86/avx2/matmul_types.h"

namespace toccata::kernels::avx2 {

const MatmulFn matmul_q4_0 = matmul_quant<DType::kQ4_0>;
const MatmulFn matmul_q4_1 = matmul_quant<DType::kQ4_1>;
const MatmulFn matmul_q5_0 = matmul_quant<DType::kQ5_0>;
const MatmulFn matmul_q5_1 = matmul_quant<DType::kQ5_1>;
const MatmulFn matmul_q8_0 = matmul_quant<DType::kQ8_0>;
const MatmulFn matmul_iq4_nl = matmul_quant<DType::kIQ4_NL>;
const MatmulFn matmul_mxfp4 = matmul_quant<DType::kMXFP4>;

}  // namespace toccata::kernels::avx2
