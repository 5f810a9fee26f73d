#include "kernels/dispatch.h"

#include <cstdlib>
#include <string>

#include "base/cpu_features.h"

namespace toccata::kernels {

namespace generic {
extern const VecKernels kVec;
extern const AttnKernels kAttn;
}  // namespace generic
namespace avx2 {
extern const VecKernels kVec;
extern const AttnKernels kAttn;
}  // namespace avx2
namespace avx512 {
extern const VecKernels kVec;
extern const AttnKernels kAttn;
}  // namespace avx512

namespace {

std::vector<KernelSet> make_sets() {
  std::vector<KernelSet> sets = {{"generic", &generic::kMatmul, &generic::kVec, &generic::kAttn}};
  [[maybe_unused]] const CpuFeatures& cpu = cpu_features();
#if TOCCATA_HAVE_AVX2
  if (cpu.avx2) sets.push_back({"avx2", &avx2::kMatmul, &avx2::kVec, &avx2::kAttn});
#endif
#if TOCCATA_HAVE_AVX512
  if (cpu.avx2 && cpu.avx512 && cpu.avx512_vnni) {
    sets.push_back({"avx512", &avx512::kMatmul, &avx512::kVec, &avx512::kAttn});
  }
#endif
  return sets;
}

Result<const KernelSet*> choose() {
  const std::vector<KernelSet>& sets = available_kernels();
  const char* name = std::getenv("TOCCATA_ISA");
  if (name == nullptr || *name == '\0') return &sets.back();
  std::string names;
  for (const KernelSet& s : sets) {
    if (s.isa == name) return &s;
    names += names.empty() ? "" : ", ";
    names += s.isa;
  }
  return fail(ErrorCode::kInvalidArgument,
              std::string("TOCCATA_ISA is \"") + name + "\", but this build on this CPU has only: " + names);
}

}  // namespace

const std::vector<KernelSet>& available_kernels() {
  static const std::vector<KernelSet> sets = make_sets();
  return sets;
}

Result<const KernelSet*> select_kernels() {
  static const Result<const KernelSet*> choice = choose();
  return choice;
}

}  // namespace toccata::kernels
