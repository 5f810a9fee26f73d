// Products with F32, F16 and BF16 weights.
#include "kernels/x86/avx512/matmul_types.h"
#include "kernels/x86/avx512/vec_lanes.h"
// The lanes come first: they silence warnings about the intrinsics.
#include "kernels/x86/matmul_float.h"

namespace toccata::kernels::avx512 {

const MatmulFn matmul_f32 = matmul_float<Lanes, DType::kF32>;
const MatmulFn matmul_f16 = matmul_float<Lanes, DType::kF16>;
const MatmulFn matmul_bf16 = matmul_float<Lanes, DType::kBF16>;

}  // namespace toccata::kernels::avx512
