// Weights of the quantised formats as the micro-kernels want them, straight from the packed matrix (kernels/
// pack_layout.h): Direct unpacks 8 rows of a group in registers. matmul_panel.h offers the same functions on a scratch
// panel that was unpacked once for many tokens.
#pragma once

#include <immintrin.h>
#include <stdint.h>

#include "kernels/x86/loads.h"
#include "kernels/x86/matmul_traits.h"
#include "tensor/quant_blocks.h"

namespace toccata::kernels::avx2 {
namespace {

TOCCATA_INLINE __m256i load128x2(const void* p) { return _mm256_broadcastsi128_si256(load128(p)); }
TOCCATA_INLINE __m256i broadcast4(const void* p) { return _mm256_set1_epi32(load_dword(p)); }
TOCCATA_INLINE __m256 broadcast_f32(const float* p) { return _mm256_broadcast_ss(p); }

// The bits of field `kQuad % fields` of width kBits in each byte, moved to bit kTo.
template <int kBits, int kField, int kTo>
TOCCATA_INLINE __m256i bit_field(__m256i v) {
  constexpr int kFrom = kBits * kField;
  const __m256i mask = _mm256_set1_epi8(static_cast<char>(((1 << kBits) - 1) << kTo));
  if constexpr (kFrom > kTo) v = _mm256_srli_epi16(v, kFrom - kTo);
  if constexpr (kFrom < kTo) v = _mm256_slli_epi16(v, kTo - kFrom);
  return _mm256_and_si256(v, mask);
}

// Plane of kBits at `run` (see pack_layout.h): the bits of quad kQuad, moved to bit kTo of each byte.
template <int kBits, int kQuad, int kTo>
TOCCATA_INLINE __m256i plane(const uint8_t* run) {
  if constexpr (kBits == 8) return load256(run + 64 * kQuad);
  if constexpr (kBits == 4) return bit_field<4, kQuad / 4, kTo>(load256(run + 64 * (kQuad % 4)));
  if constexpr (kBits == 2) return bit_field<2, kQuad % 4, kTo>(load256(run + 64 * (kQuad / 4)));
  if constexpr (kBits == 1) return bit_field<1, kQuad, kTo>(load256(run));
}

// Table of IQ4 values, or of MXFP4 values + 16, for vpshufb.
template <DType kType>
TOCCATA_INLINE __m256i value_table() {
  if constexpr (kType == DType::kMXFP4) {
    return _mm256_broadcastsi128_si256(_mm_setr_epi8(16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4));
  } else {
    return _mm256_broadcastsi128_si256(
        _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113));
  }
}

// A vector of int16 pairs from 8 rows' sub-scale bytes of a pair of sub-blocks: those of the even or odd one, twice.
template <bool kSigned, bool kOdd>
TOCCATA_INLINE __m256i byte_of_pair(__m256i v) {
  constexpr char o = kOdd ? 1 : 0, z = -128;  // z: a zero byte
  if constexpr (kSigned) {                    // into the upper byte, then an arithmetic shift
    v = _mm256_shuffle_epi8(
        v, _mm256_setr_epi8(z, o, z, o, z, 2 + o, z, 2 + o, z, 4 + o, z, 4 + o, z, 6 + o, z, 6 + o, z, 8 + o, z, 8 + o,
                            z, 10 + o, z, 10 + o, z, 12 + o, z, 12 + o, z, 14 + o, z, 14 + o));
    return _mm256_srai_epi16(v, 8);
  } else {
    return _mm256_shuffle_epi8(
        v, _mm256_setr_epi8(o, z, o, z, 2 + o, z, 2 + o, z, 4 + o, z, 4 + o, z, 6 + o, z, 6 + o, z, 8 + o, z, 8 + o, z,
                            10 + o, z, 10 + o, z, 12 + o, z, 12 + o, z, 14 + o, z, 14 + o, z));
  }
}

// One byte of each pair in 16 bytes, as f32 of 8 rows.
template <bool kOdd>
TOCCATA_INLINE __m256 float_of_pair(__m128i v) {
  const __m256i pairs = _mm256_cvtepu8_epi16(v);
  return _mm256_cvtepi32_ps(kOdd ? _mm256_srli_epi32(pairs, 16) : _mm256_and_si256(pairs, _mm256_set1_epi32(0xffff)));
}

// int16 values of the even (k, k + 2) and odd (k + 1, k + 3) elements of a quad.
struct Pairs {
  __m256i v[2];
};

template <DType kType>
struct Direct {
  using T = Traits<kType>;
  static constexpr PackLayout p = T::kLayout;
  static constexpr int kRuns = p.elems / 32, kBytes = p.bytes;  // of a block
  static constexpr bool kTable = kType == DType::kIQ4_NL || kType == DType::kIQ4_XS || kType == DType::kMXFP4;

  // Codes of a run; a half is 8 of the 16 rows.
  static TOCCATA_INLINE const uint8_t* codes(const uint8_t* block, int run, int half) {
    return block + p.codes + run * p.run_bytes() + 32 * half;
  }

  template <int kQuad>
  static TOCCATA_INLINE __m256i quad(const uint8_t* codes) {
    __m256i v = plane<p.low_bits, kQuad, 0>(codes);
    if constexpr (p.high_bits > 0) {
      v = _mm256_or_si256(v, plane<p.high_bits, kQuad, p.low_bits>(codes + 64 * p.low_bits));
    }
    if constexpr (kTable) v = _mm256_shuffle_epi8(value_table<kType>(), v);
    return v;
  }

  // Wide codes as int16.
  template <int kQuad>
  static TOCCATA_INLINE Pairs pairs(const uint8_t* codes) {
    const __m256i v = quad<kQuad>(codes);
    if constexpr (T::kSigned) return {{_mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8), _mm256_srai_epi16(v, 8)}};
    return {{_mm256_and_si256(v, _mm256_set1_epi16(0xff)), _mm256_srli_epi16(v, 8)}};
  }

  // Integer scales of the run's sub-blocks, int16 twice in each dword. kOdd: the run's parity.
  template <bool kOdd>
  static TOCCATA_INLINE void factors(const uint8_t* block, int run, int half, __m256i* f) {
    if constexpr (T::kFactors > 0) {
      constexpr bool kSigned = kType != DType::kQ2_K;
      const int pair = T::kFactors == 2 ? run : run / 2;
      __m256i v = load128x2(block + p.sub_scale + 32 * pair + 16 * half);
      if constexpr (kType == DType::kQ2_K) v = _mm256_and_si256(v, _mm256_set1_epi8(15));
      if constexpr (T::kFactors == 2) {
        f[0] = byte_of_pair<kSigned, false>(v);
        f[1] = byte_of_pair<kSigned, true>(v);
      } else {
        f[0] = byte_of_pair<kSigned, kOdd>(v);
      }
    }
  }

  template <bool kOdd>
  static TOCCATA_INLINE __m256 scale(const uint8_t* block, int run, int half) {
    const __m128i bits = load128(block + 16 * half);
    if constexpr (kType == DType::kMXFP4) {
      return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
    }
    const __m256 d = _mm256_cvtph_ps(bits);
    if constexpr (kType == DType::kQ4_K || kType == DType::kQ5_K) {
      return _mm256_mul_ps(d, float_of_pair<kOdd>(load128(block + p.sub_scale + run / 2 * 32 + 16 * half)));
    }
    return d;
  }

  // kIndex: of the run's 16 elements (Q2_K), else 0.
  template <bool kOdd, int kIndex>
  static TOCCATA_INLINE __m256 min(const uint8_t* block, int run, int half) {
    const __m256 m = _mm256_cvtph_ps(load128(block + p.min + 16 * half));
    if constexpr (p.subs == 0) return m;
    __m256 integers;
    if constexpr (kType == DType::kQ2_K) {
      const __m128i bytes = _mm_srli_epi16(load128(block + p.sub_scale + run * 32 + 16 * half), 4);
      integers = float_of_pair<kIndex == 1>(_mm_and_si128(bytes, _mm_set1_epi8(15)));
    } else {
      integers = float_of_pair<kOdd>(load128(block + p.sub_min + run / 2 * 32 + 16 * half));
    }
    return _mm256_xor_ps(_mm256_mul_ps(m, integers), _mm256_set1_ps(-0.0f));
  }
};

}  // namespace
}  // namespace toccata::kernels::avx2
