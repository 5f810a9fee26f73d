// Products with F32, F16 and BF16 weights.
#include "kernels/x86/matmul_float.h"

#include "kernels/x86/avx2/matmul_types.h"
#include "kernels/x86/avx2/vec_lanes.h"

namespace toccata::kernels::avx2 {

const MatmulFn matmul_f32 = matmul_float<Lanes, DType::kF32>;
const MatmulFn matmul_f16 = matmul_float<Lanes, DType::kF16>;
const MatmulFn matmul_bf16 = matmul_float<Lanes, DType::kBF16>;

}  // namespace toccata::kernels::avx2
