#include "kernels/x86/avx512/vec_lanes.h"
// The lanes come first: they silence warnings about the intrinsics.
#include "kernels/x86/attn_table.h"

namespace toccata::kernels::avx512 {

extern const AttnKernels kAttn;
constexpr AttnKernels kAttn = AttnBody<Lanes>::table();

}  // namespace toccata::kernels::avx512
