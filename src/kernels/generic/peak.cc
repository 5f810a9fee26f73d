// Plain loops over small arrays; the compiler makes of them what the target's baseline allows.
#include "kernels/peak.h"

namespace toccata::kernels::generic {
extern const PeakKernels kPeak;
namespace {

constexpr int kLanes = 32;

// Makes the compiler believe that the memory changed, so that no round can be folded into the one before.
inline void forget(void* p) { asm volatile("" : : "r"(p) : "memory"); }

uint64_t read(const std::byte* data, size_t bytes) {
  const uint64_t* p = reinterpret_cast<const uint64_t*>(data);
  uint64_t sum[8] = {};
  for (size_t i = 0; i < bytes / sizeof(uint64_t); i += 8) {
    for (size_t j = 0; j < 8; ++j) sum[j] += p[i + j];
  }
  uint64_t all = 0;
  for (uint64_t s : sum) all += s;
  return all;
}

// int16 products summed in int32, the widest that the baseline has for 8-bit codes.
uint64_t int8_rounds(int64_t rounds) {
  int16_t a[kLanes], b[kLanes];
  int32_t sum[kLanes / 2] = {};
  for (int i = 0; i < kLanes; ++i) a[i] = static_cast<int16_t>(i - 15), b[i] = static_cast<int16_t>(7 - i);
  for (int64_t r = 0; r < rounds; ++r) {
    forget(a);
    for (int i = 0; i < kLanes / 2; ++i) sum[i] += a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
  }
  uint64_t all = 0;
  for (int32_t s : sum) all += static_cast<uint32_t>(s);
  return all;
}

float f32_rounds(int64_t rounds) {
  float sum[kLanes];
  for (int i = 0; i < kLanes; ++i) sum[i] = static_cast<float>(i);
  constexpr float scale = 0.5f, add = 1.0f;
  for (int64_t r = 0; r < rounds; ++r) {
    for (int i = 0; i < kLanes; ++i) sum[i] = sum[i] * scale + add;
  }
  float all = 0;
  for (float s : sum) all += s;
  return all;
}

}  // namespace

const PeakKernels kPeak = {read, int8_rounds, 2 * kLanes, f32_rounds, 2 * kLanes};

}  // namespace toccata::kernels::generic
