// The kernel tables of each instruction set, and the choice among them.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/attn.h"
#include "kernels/matmul.h"
#include "kernels/vec.h"
#include "toccata/result.h"

namespace toccata::kernels {

struct KernelSet {
  std::string_view isa;  // "generic", "avx2", "avx512"
  const MatmulKernels* matmul;
  const VecKernels* vec;
  const AttnKernels* attn;
};

// All sets that were built in and that this CPU can run, slowest first; "generic" is always there.
const std::vector<KernelSet>& available_kernels();

// The set named by the environment variable TOCCATA_ISA, else the fastest available. Decided at the first call.
// An unknown or unavailable name is kInvalidArgument with the list of names.
Result<const KernelSet*> select_kernels();

}  // namespace toccata::kernels
