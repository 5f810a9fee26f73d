#include "base/cpu_features.h"

#include <sched.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace toccata {
namespace {

#if defined(__x86_64__)

struct Registers {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

constexpr bool bit(uint32_t word, int index) { return (word >> index & 1) != 0; }

// Which register states the operating system saves (XCR0).
uint64_t enabled_state() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

std::string model_name() {
  char text[49] = {};
  for (uint32_t i = 0; i < 3; ++i) {
    const Registers r = cpuid(0x80000002 + i);
    std::memcpy(text + 16 * i, &r, 16);
  }
  std::string name(text);
  const size_t begin = name.find_first_not_of(' ');
  const size_t end = name.find_last_not_of(' ');
  return begin == std::string::npos ? "unknown x86-64" : name.substr(begin, end - begin + 1);
}

// Bit positions: Intel SDM volume 2, CPUID; volume 1, 13.2 (XCR0).
void read_instruction_sets(CpuFeatures& f) {
  const Registers basic = cpuid(1);
  f.model_name = model_name();
  if (!bit(basic.ecx, 27)) return;  // no OSXSAVE: xgetbv would fault
  const uint64_t state = enabled_state();
  const bool ymm = (state & 0x06) == 0x06;  // SSE and AVX state
  const bool zmm = (state & 0xE6) == 0xE6;  // and opmask, upper halves of ZMM0-15, ZMM16-31
  const Registers extended = cpuid(7, 0);
  const Registers more = extended.eax >= 1 ? cpuid(7, 1) : Registers{};
  const bool fma = bit(basic.ecx, 12), f16c = bit(basic.ecx, 29), avx = bit(basic.ecx, 28);
  f.avx2 = ymm && avx && fma && f16c && bit(extended.ebx, 5) && bit(extended.ebx, 8);
  f.avx512 =
      f.avx2 && zmm && bit(extended.ebx, 16) && bit(extended.ebx, 17) && bit(extended.ebx, 30) && bit(extended.ebx, 31);
  f.avx512_vnni = f.avx512 && bit(extended.ecx, 11);
  f.avx512_bf16 = f.avx512 && bit(more.eax, 5);
  f.avx_vnni = f.avx2 && bit(more.eax, 4);
}

#else

void read_instruction_sets(CpuFeatures& f) { f.model_name = "unknown"; }

#endif

int count_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);  // more CPUs than cpu_set_t holds
  return online > 0 ? static_cast<int>(online) : 1;
}

CpuFeatures read_features() {
  CpuFeatures f;
  read_instruction_sets(f);
  f.logical_cpus = count_cpus();
  return f;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = read_features();
  return features;
}

}  // namespace toccata
