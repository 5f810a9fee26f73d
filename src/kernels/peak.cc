#include "kernels/peak.h"

namespace toccata::kernels {

namespace generic {
extern const PeakKernels kPeak;
}
namespace avx2 {
extern const PeakKernels kPeak;
}
namespace avx512 {
extern const PeakKernels kPeak;
}

const PeakKernels& peak_kernels([[maybe_unused]] std::string_view isa) {
#if TOCCATA_HAVE_AVX2
  if (isa == "avx2") return avx2::kPeak;
#endif
#if TOCCATA_HAVE_AVX512
  if (isa == "avx512") return avx512::kPeak;
#endif
  return generic::kPeak;
}

}  // namespace toccata::kernels
