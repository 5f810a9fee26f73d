#include "kernels/x86/matmul_quantize.h"

#include "kernels/x86/avx512/matmul_types.h"

namespace toccata::kernels::avx512 {

void quantize_act(ActKind kind, const float* x, int64_t cols, std::byte* dst) { quantize(kind, x, cols, dst); }

}  // namespace toccata::kernels::avx512
