// Products with the formats of 5-bit codes (MXFP4 values are 5 bits wide).
#include "kernels/x86/avx2/matmul_quant.h"
#include "kernels/x86/avx2/matmul_types.h"

namespace toccata::kernels::avx2 {

const MatmulFn matmul_q5_0 = matmul_quant<Tiles, DType::kQ5_0>;
const MatmulFn matmul_q5_1 = matmul_quant<Tiles, DType::kQ5_1>;
const MatmulFn matmul_q5_k = matmul_quant<Tiles, DType::kQ5_K>;
const MatmulFn matmul_mxfp4 = matmul_quant<Tiles, DType::kMXFP4>;

}  // namespace toccata::kernels::avx2
