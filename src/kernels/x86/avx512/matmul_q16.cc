// Products with the formats of wide values.
#include "kernels/x86/avx512/matmul_quant.h"
#include "kernels/x86/avx512/matmul_types.h"

namespace toccata::kernels::avx512 {

const MatmulFn matmul_q8_0 = matmul_quant<Tiles, DType::kQ8_0>;
const MatmulFn matmul_q6_k = matmul_quant<Tiles, DType::kQ6_K>;
const MatmulFn matmul_iq4_nl = matmul_quant<Tiles, DType::kIQ4_NL>;
const MatmulFn matmul_iq4_xs = matmul_quant<Tiles, DType::kIQ4_XS>;

}  // namespace toccata::kernels::avx512
