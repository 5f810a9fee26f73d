// Products with the formats of 4-bit codes.
#include "kernels/x86/avx512/matmul_quant.h"
#include "kernels/x86/avx512/matmul_types.h"

namespace toccata::kernels::avx512 {

const MatmulFn matmul_q4_0 = matmul_quant<Tiles, DType::kQ4_0>;
const MatmulFn matmul_q4_1 = matmul_quant<Tiles, DType::kQ4_1>;
const MatmulFn matmul_q4_k = matmul_quant<Tiles, DType::kQ4_K>;

}  // namespace toccata::kernels::avx512
