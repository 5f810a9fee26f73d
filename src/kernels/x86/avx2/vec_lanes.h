// The 16 virtual lanes as two 256-bit vectors.
#pragma once

#include "kernels/x86/vec_half.h"

namespace toccata::kernels::avx2 {
namespace {

struct Lanes {
  __m256 a, b;

  // Register tile of the inner products (kernels/x86/attn_tile.h): 6 rows x 16 lanes are 12 accumulators, which leaves
  // 2 registers for the right operand and 1 for the left. Up to 2 rows take 32 lanes, to keep 8 fma chains busy.
  static constexpr int kRows = 6;
  static constexpr int kWideRows = 2;
  // Of the products with float weights: 12 chains of fma, enough for its latency, and 12 + 3 registers.
  static constexpr int kFloatTokens = 6;

  static TOCCATA_INLINE Lanes load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  // Lanes 0..7; the others are 0.
  static TOCCATA_INLINE Lanes load8(const float* p) { return {_mm256_loadu_ps(p), _mm256_setzero_ps()}; }
  static TOCCATA_INLINE Lanes widen(const std::byte* base, size_t index, DType type) {
    return {widen8(base, index, type), widen8(base, index + 8, type)};
  }
  static TOCCATA_INLINE Lanes widen_half(const std::byte* base, size_t index, DType type) {
    return {widen8(base, index, type), _mm256_setzero_ps()};
  }
  static TOCCATA_INLINE Lanes from_bytes(__m128i codes) {
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(codes)),
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(codes, codes)))};
  }
  static TOCCATA_INLINE Lanes all(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  TOCCATA_INLINE void store(float* p) const {
    _mm256_storeu_ps(p, a);
    _mm256_storeu_ps(p + 8, b);
  }
  TOCCATA_INLINE void store8(float* p) const { _mm256_storeu_ps(p, a); }

  friend TOCCATA_INLINE Lanes operator+(Lanes x, Lanes y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
  friend TOCCATA_INLINE Lanes operator-(Lanes x, Lanes y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
  friend TOCCATA_INLINE Lanes operator*(Lanes x, Lanes y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
  friend TOCCATA_INLINE Lanes operator/(Lanes x, Lanes y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
  // x y + z and x y - z, rounded once.
  static TOCCATA_INLINE Lanes fma(Lanes x, Lanes y, Lanes z) {
    return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
  }
  static TOCCATA_INLINE Lanes fms(Lanes x, Lanes y, Lanes z) {
    return {_mm256_fmsub_ps(x.a, y.a, z.a), _mm256_fmsub_ps(x.b, y.b, z.b)};
  }
  // x > y ? x : y and x < y ? x : y: y where one of them is NaN.
  static TOCCATA_INLINE Lanes max(Lanes x, Lanes y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
  static TOCCATA_INLINE Lanes min(Lanes x, Lanes y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }

  static TOCCATA_INLINE Lanes zero_where_less(Lanes x, Lanes limit, Lanes value) {
    return {_mm256_and_ps(_mm256_cmp_ps(x.a, limit.a, _CMP_NLT_UQ), value.a),
            _mm256_and_ps(_mm256_cmp_ps(x.b, limit.b, _CMP_NLT_UQ), value.b)};
  }
  // bits(p) + (bits(t) << 23)
  static TOCCATA_INLINE Lanes add_exponent(Lanes p, Lanes t) {
    const auto half = [](__m256 x, __m256 y) __attribute__((always_inline)) {
      return _mm256_castsi256_ps(
          _mm256_add_epi32(_mm256_castps_si256(x), _mm256_slli_epi32(_mm256_castps_si256(y), 23)));
    };
    return {half(p.a, t.a), half(p.b, t.b)};
  }
  // -inf in lanes outside [lo, hi).
  static TOCCATA_INLINE Lanes keep(Lanes x, int lo, int hi) {
    const auto half = [ lo, hi ](__m256 v, int first) __attribute__((always_inline)) {
      const __m256i lane = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(first));
      const __m256i below = _mm256_cmpgt_epi32(_mm256_set1_epi32(lo), lane);
      const __m256i inside = _mm256_andnot_si256(below, _mm256_cmpgt_epi32(_mm256_set1_epi32(hi), lane));
      return _mm256_blendv_ps(_mm256_set1_ps(-__builtin_inff()), v, _mm256_castsi256_ps(inside));
    };
    return {half(x.a, 0), half(x.b, 8)};
  }
  // The tree of kernels/vec.h.
  TOCCATA_INLINE float sum() const {
    const __m256 s8 = _mm256_add_ps(a, b);
    const __m128 s4 = _mm_add_ps(_mm256_castps256_ps128(s8), _mm256_extractf128_ps(s8, 1));
    const __m128 s2 = _mm_add_ps(s4, _mm_movehl_ps(s4, s4));
    return _mm_cvtss_f32(_mm_add_ss(s2, _mm_movehdup_ps(s2)));
  }
  TOCCATA_INLINE float largest() const {  // no NaN
    const __m256 s8 = _mm256_max_ps(a, b);
    const __m128 s4 = _mm_max_ps(_mm256_castps256_ps128(s8), _mm256_extractf128_ps(s8, 1));
    const __m128 s2 = _mm_max_ps(s4, _mm_movehl_ps(s4, s4));
    return _mm_cvtss_f32(_mm_max_ss(s2, _mm_movehdup_ps(s2)));
  }
  // 32 floats x0 y0 x1 y1 ... to the lanes x and y, and back.
  static TOCCATA_INLINE void unzip(const float* p, Lanes& x, Lanes& y) {
    unzip8(p, x.a, y.a);
    unzip8(p + 16, x.b, y.b);
  }
  static TOCCATA_INLINE void zip(Lanes x, Lanes y, float* p) {
    zip8(x.a, y.a, p);
    zip8(x.b, y.b, p + 16);
  }

 private:
  static TOCCATA_INLINE void unzip8(const float* p, __m256& x, __m256& y) {
    const __m256 u = _mm256_loadu_ps(p), v = _mm256_loadu_ps(p + 8);
    const __m256 low = _mm256_permute2f128_ps(u, v, 0x20), high = _mm256_permute2f128_ps(u, v, 0x31);
    x = _mm256_shuffle_ps(low, high, 0x88);
    y = _mm256_shuffle_ps(low, high, 0xdd);
  }
  static TOCCATA_INLINE void zip8(__m256 x, __m256 y, float* p) {
    const __m256 low = _mm256_unpacklo_ps(x, y), high = _mm256_unpackhi_ps(x, y);
    _mm256_storeu_ps(p, _mm256_permute2f128_ps(low, high, 0x20));
    _mm256_storeu_ps(p + 8, _mm256_permute2f128_ps(low, high, 0x31));
  }
};

}  // namespace
}  // namespace toccata::kernels::avx2
