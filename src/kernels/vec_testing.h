// The kernel tables that the tests of vec and attn run: those of this CPU, and AVX-512 through SIMDe.
#pragma once

#include <string>
#include <vector>

#include "base/cpu_features.h"
#include "kernels/dispatch.h"

#if TOCCATA_SIMDE
namespace toccata::kernels::avx512_simde {
extern const VecKernels kVec;
extern const AttnKernels kAttn;
}  // namespace toccata::kernels::avx512_simde
#endif

namespace toccata::kernels::testing {

struct TestedSet {
  std::string name;
  const VecKernels* vec;
  const AttnKernels* attn;
};

inline std::vector<TestedSet> tested_sets() {
  std::vector<TestedSet> sets;
  for (const KernelSet& s : available_kernels()) sets.push_back({std::string(s.isa), s.vec, s.attn});
#if TOCCATA_SIMDE
  if (cpu_features().avx2) sets.push_back({"avx512 by SIMDe", &avx512_simde::kVec, &avx512_simde::kAttn});
#endif
  return sets;
}

}  // namespace toccata::kernels::testing
