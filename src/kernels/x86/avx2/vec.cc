#include "kernels/x86/vec_body.h"
#include "kernels/x86/vec_exp_sum.h"
#include "kernels/x86/vec_hadamard.h"

#include "kernels/x86/avx2/vec_lanes.h"

namespace toccata::kernels::avx2 {
namespace {
using Body = VecBody<Lanes>;
}  // namespace

extern const VecKernels kVec;
const VecKernels kVec = {Body::rms_norm, Body::add, Body::scale,   Body::silu_mul, Body::gelu_mul,
                         Body::rope,     hadamard,  Body::run_max, exp_sum};

}  // namespace toccata::kernels::avx2
