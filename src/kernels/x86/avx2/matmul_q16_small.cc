// Products with the formats of wide values and few bits.
#include "kernels/x86/avx2/matmul_quant.h"
#include "kernels/x86/avx2/matmul_types.h"

namespace toccata::kernels::avx2 {

const MatmulFn matmul_q2_k = matmul_quant<Tiles, DType::kQ2_K>;
const MatmulFn matmul_q3_k = matmul_quant<Tiles, DType::kQ3_K>;

}  // namespace toccata::kernels::avx2
