// The instruction sets that this CPU and operating system offer.
#pragma once

#include <string>

namespace toccata {

struct CpuFeatures {
  bool avx2 = false;    // AVX2, FMA, F16C and BMI2, with YMM state enabled by the OS
  bool avx512 = false;  // AVX-512 F, BW, DQ and VL, with ZMM state enabled by the OS
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool avx_vnni = false;
  std::string model_name;  // for reports only
  int logical_cpus = 1;    // CPUs this process may run on
};

// Read once; never fails.
const CpuFeatures& cpu_features();

}  // namespace toccata
