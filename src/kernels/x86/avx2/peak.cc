// 8-bit products by maddubs (u8 x s8, pairs added in int16), eight of them added in int16 before one madd widens
// the sums to int32: the chain that unsigned 4-bit codes allow (kernels/matmul.h).
#include "kernels/peak.h"

#include <immintrin.h>

namespace toccata::kernels::avx2 {
extern const PeakKernels kPeak;
namespace {

constexpr int kChains = 12;  // fma: latency 4 or 5 times two a cycle

uint64_t read(const std::byte* data, size_t bytes) {
  __m256i sum[4] = {};
  for (size_t i = 0; i < bytes; i += kPeakReadStep) {
    for (size_t j = 0; j < kPeakReadStep; j += 128) {
      for (size_t l = 0; l < 4; ++l) {
        const __m256i v = _mm256_load_si256(reinterpret_cast<const __m256i*>(data + i + j + 32 * l));
        sum[l] = _mm256_xor_si256(sum[l], v);
      }
    }
  }
  const __m256i all = _mm256_xor_si256(_mm256_xor_si256(sum[0], sum[1]), _mm256_xor_si256(sum[2], sum[3]));
  alignas(32) uint64_t lanes[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), all);
  return lanes[0] ^ lanes[1] ^ lanes[2] ^ lanes[3];
}

uint64_t int8_rounds(int64_t rounds) {
  __m256i u[4], s[4], sum[4] = {};
  for (int i = 0; i < 4; ++i) {
    u[i] = _mm256_set1_epi8(static_cast<char>(i + 3));
    s[i] = _mm256_set1_epi8(static_cast<char>(9 - 5 * i));
  }
  const __m256i ones = _mm256_set1_epi16(1);
  for (int64_t r = 0; r < rounds; ++r) {
    __m256i pair[4] = {};
    for (int half = 0; half < 2; ++half) {
      // The codes look new each time, so nothing can be taken out of the loop.
      asm volatile("" : "+x"(u[0]), "+x"(u[1]), "+x"(u[2]), "+x"(u[3]));
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) pair[i] = _mm256_add_epi16(pair[i], _mm256_maddubs_epi16(u[j], s[i]));
      }
    }
    for (int i = 0; i < 4; ++i) sum[i] = _mm256_add_epi32(sum[i], _mm256_madd_epi16(pair[i], ones));
  }
  const __m256i all = _mm256_add_epi32(_mm256_add_epi32(sum[0], sum[1]), _mm256_add_epi32(sum[2], sum[3]));
  return static_cast<uint32_t>(_mm256_extract_epi32(all, 0));
}

float f32_rounds(int64_t rounds) {
  __m256 sum[kChains];
  for (int i = 0; i < kChains; ++i) sum[i] = _mm256_set1_ps(static_cast<float>(i));  // equal chains would be merged
  const __m256 scale = _mm256_set1_ps(0.5f), add = _mm256_set1_ps(1.0f);
  for (int64_t r = 0; r < rounds; ++r) {
    for (int i = 0; i < kChains; ++i) sum[i] = _mm256_fmadd_ps(sum[i], scale, add);
  }
  __m256 all = sum[0];
  for (int i = 1; i < kChains; ++i) all = _mm256_add_ps(all, sum[i]);
  return _mm256_cvtss_f32(all);
}

}  // namespace

const PeakKernels kPeak = {read, int8_rounds, 32 * 64, f32_rounds, kChains * 16};

}  // namespace toccata::kernels::avx2
