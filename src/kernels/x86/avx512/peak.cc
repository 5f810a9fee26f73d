// 8-bit products by VNNI: dpbusd multiplies 64 pairs and adds them to 16 int32 sums.
#include "kernels/peak.h"

#include <immintrin.h>

namespace toccata::kernels::avx512 {
extern const PeakKernels kPeak;
namespace {

constexpr int kChains = 16;  // latency 4 or 5 times two a cycle, with some to spare

uint64_t read(const std::byte* data, size_t bytes) {
  __m512i sum[4] = {};
  for (size_t i = 0; i < bytes; i += kPeakReadStep) {
    for (size_t j = 0; j < kPeakReadStep; j += 256) {
      for (size_t l = 0; l < 4; ++l) sum[l] = _mm512_xor_si512(sum[l], _mm512_load_si512(data + i + j + 64 * l));
    }
  }
  const __m512i all = _mm512_xor_si512(_mm512_xor_si512(sum[0], sum[1]), _mm512_xor_si512(sum[2], sum[3]));
  alignas(64) uint64_t lanes[8];
  _mm512_store_si512(lanes, all);
  uint64_t one = 0;
  for (uint64_t lane : lanes) one ^= lane;
  return one;
}

uint64_t int8_rounds(int64_t rounds) {
  __m512i sum[kChains];
  for (int i = 0; i < kChains; ++i) sum[i] = _mm512_set1_epi32(i);  // equal chains would be merged
  const __m512i u = _mm512_set1_epi8(3), s = _mm512_set1_epi8(-5);
  for (int64_t r = 0; r < rounds; ++r) {
    for (int i = 0; i < kChains; ++i) sum[i] = _mm512_dpbusd_epi32(sum[i], u, s);
  }
  __m512i all = sum[0];
  for (int i = 1; i < kChains; ++i) all = _mm512_add_epi32(all, sum[i]);
  alignas(64) uint32_t lanes[16];
  _mm512_store_si512(lanes, all);
  return lanes[0];
}

float f32_rounds(int64_t rounds) {
  __m512 sum[kChains];
  for (int i = 0; i < kChains; ++i) sum[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 scale = _mm512_set1_ps(0.5f), add = _mm512_set1_ps(1.0f);
  for (int64_t r = 0; r < rounds; ++r) {
    for (int i = 0; i < kChains; ++i) sum[i] = _mm512_fmadd_ps(sum[i], scale, add);
  }
  __m512 all = sum[0];
  for (int i = 1; i < kChains; ++i) all = _mm512_add_ps(all, sum[i]);
  alignas(64) float lanes[16];
  _mm512_store_ps(lanes, all);
  return lanes[0];
}

}  // namespace

const PeakKernels kPeak = {read, int8_rounds, kChains * 128, f32_rounds, kChains * 32};

}  // namespace toccata::kernels::avx512
