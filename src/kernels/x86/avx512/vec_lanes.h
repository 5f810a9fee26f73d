// The 16 virtual lanes as one 512-bit vector.
#pragma once

// GCC 12 takes the undefined pass-through operands of its own AVX-512 intrinsics for faults (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "kernels/x86/vec_half.h"

namespace toccata::kernels::avx512 {
namespace {

struct Lanes {
  __m512 v;

  // Register tile of the inner products (kernels/x86/attn_tile.h): 8 rows x 32 lanes are 16 fma chains, twice what
  // hides the latency; each step loads 2 right and 8 left operands for 16 fma. More rows run out of address registers.
  static constexpr int kRows = 8;
  static constexpr int kWideRows = 8;
  // Of the products with float weights: one fma chain a token, latency 4 times two a cycle, with some to spare because
  // the loads, one a token and one of weights, fill the two load ports.
  static constexpr int kFloatTokens = 12;

  static TOCCATA_INLINE Lanes load(const float* p) { return {_mm512_loadu_ps(p)}; }
  // Lanes 0..7; the others are 0.
  static TOCCATA_INLINE Lanes load8(const float* p) { return lower(_mm256_loadu_ps(p)); }
  static TOCCATA_INLINE Lanes widen(const std::byte* base, size_t index, DType type) {
    if (type == DType::kF32) return load(reinterpret_cast<const float*>(base) + index);
    const __m256i h = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(base + 2 * index));
    if (type == DType::kF16) return {_mm512_cvtph_ps(h)};
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16))};
  }
  static TOCCATA_INLINE Lanes widen_half(const std::byte* base, size_t index, DType type) {
    return lower(widen8(base, index, type));
  }
  static TOCCATA_INLINE Lanes from_bytes(__m128i codes) { return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(codes))}; }
  static TOCCATA_INLINE Lanes all(float x) { return {_mm512_set1_ps(x)}; }
  TOCCATA_INLINE void store(float* p) const { _mm512_storeu_ps(p, v); }
  TOCCATA_INLINE void store8(float* p) const { _mm256_storeu_ps(p, _mm512_castps512_ps256(v)); }

  friend TOCCATA_INLINE Lanes operator+(Lanes x, Lanes y) { return {_mm512_add_ps(x.v, y.v)}; }
  friend TOCCATA_INLINE Lanes operator-(Lanes x, Lanes y) { return {_mm512_sub_ps(x.v, y.v)}; }
  friend TOCCATA_INLINE Lanes operator*(Lanes x, Lanes y) { return {_mm512_mul_ps(x.v, y.v)}; }
  friend TOCCATA_INLINE Lanes operator/(Lanes x, Lanes y) { return {_mm512_div_ps(x.v, y.v)}; }
  // x y + z and x y - z, rounded once.
  static TOCCATA_INLINE Lanes fma(Lanes x, Lanes y, Lanes z) { return {_mm512_fmadd_ps(x.v, y.v, z.v)}; }
  static TOCCATA_INLINE Lanes fms(Lanes x, Lanes y, Lanes z) { return {_mm512_fmsub_ps(x.v, y.v, z.v)}; }
  // x > y ? x : y and x < y ? x : y: y where one of them is NaN.
  static TOCCATA_INLINE Lanes max(Lanes x, Lanes y) { return {_mm512_max_ps(x.v, y.v)}; }
  static TOCCATA_INLINE Lanes min(Lanes x, Lanes y) { return {_mm512_min_ps(x.v, y.v)}; }

  static TOCCATA_INLINE Lanes zero_where_less(Lanes x, Lanes limit, Lanes value) {
    return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x.v, limit.v, _CMP_NLT_UQ), value.v)};
  }
  // bits(p) + (bits(t) << 23)
  static TOCCATA_INLINE Lanes add_exponent(Lanes p, Lanes t) {
    return {_mm512_castsi512_ps(
        _mm512_add_epi32(_mm512_castps_si512(p.v), _mm512_slli_epi32(_mm512_castps_si512(t.v), 23)))};
  }
  // -inf in lanes outside [lo, hi).
  static TOCCATA_INLINE Lanes keep(Lanes x, int lo, int hi) {
    const auto below = [](int n) { return n <= 0 ? 0u : n >= 16 ? 0xffffu : (1u << n) - 1u; };
    const __mmask16 inside = static_cast<__mmask16>(below(hi) & ~below(lo));
    return {_mm512_mask_blend_ps(inside, _mm512_set1_ps(-__builtin_inff()), x.v)};
  }
  // The tree of kernels/vec.h.
  TOCCATA_INLINE float sum() const {
    const __m256 s8 = _mm256_add_ps(_mm512_castps512_ps256(v), upper());
    const __m128 s4 = _mm_add_ps(_mm256_castps256_ps128(s8), _mm256_extractf128_ps(s8, 1));
    const __m128 s2 = _mm_add_ps(s4, _mm_movehl_ps(s4, s4));
    return _mm_cvtss_f32(_mm_add_ss(s2, _mm_movehdup_ps(s2)));
  }
  TOCCATA_INLINE float largest() const {  // no NaN
    const __m256 s8 = _mm256_max_ps(_mm512_castps512_ps256(v), upper());
    const __m128 s4 = _mm_max_ps(_mm256_castps256_ps128(s8), _mm256_extractf128_ps(s8, 1));
    const __m128 s2 = _mm_max_ps(s4, _mm_movehl_ps(s4, s4));
    return _mm_cvtss_f32(_mm_max_ss(s2, _mm_movehdup_ps(s2)));
  }
  // 32 floats x0 y0 x1 y1 ... to the lanes x and y, and back.
  static TOCCATA_INLINE void unzip(const float* p, Lanes& x, Lanes& y) {
    const __m512 a = _mm512_loadu_ps(p), b = _mm512_loadu_ps(p + 16);
    x.v = _mm512_permutex2var_ps(a, _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30), b);
    y.v = _mm512_permutex2var_ps(a, _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31), b);
  }
  static TOCCATA_INLINE void zip(Lanes x, Lanes y, float* p) {
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    _mm512_storeu_ps(p, _mm512_permutex2var_ps(x.v, low, y.v));
    _mm512_storeu_ps(p + 16, _mm512_permutex2var_ps(x.v, high, y.v));
  }

 private:
  static TOCCATA_INLINE Lanes lower(__m256 x) { return {_mm512_insertf32x8(_mm512_setzero_ps(), x, 0)}; }
  TOCCATA_INLINE __m256 upper() const { return _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1)); }
};

}  // namespace
}  // namespace toccata::kernels::avx512
