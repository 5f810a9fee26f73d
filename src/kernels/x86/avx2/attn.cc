#include "kernels/x86/attn_table.h"
#include "kernels/x86/avx2/vec_lanes.h"

namespace toccata::kernels::avx2 {

extern const AttnKernels kAttn;
constexpr AttnKernels kAttn = AttnBody<Lanes>::table();

}  // namespace toccata::kernels::avx2
