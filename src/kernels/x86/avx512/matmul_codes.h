// Weights of the quantised formats as the micro-kernels want them, straight from the packed matrix (kernels/
// pack_layout.h): Direct unpacks a group's 16 rows in registers. matmul_panel.h offers the same functions on a scratch
// panel that was unpacked once for many tokens. All vectors hold 16 rows.
#pragma once

#include "kernels/x86/avx512/vec_lanes.h"
// The lanes come first: they silence warnings about the intrinsics.
#include "kernels/x86/loads.h"
#include "kernels/x86/matmul_traits.h"

namespace toccata::kernels::avx512 {
namespace {

TOCCATA_INLINE __m512i load512(const void* p) { return _mm512_loadu_si512(p); }
TOCCATA_INLINE void store512(void* p, __m512i v) { _mm512_storeu_si512(p, v); }
// Folded into the instruction that uses it, where that multiplies dwords or pairs.
TOCCATA_INLINE __m512i broadcast4(const void* p) { return _mm512_set1_epi32(load_dword(p)); }

// The bits of field kField of width kBits in each byte, moved to bit kTo.
template <int kBits, int kField, int kTo>
TOCCATA_INLINE __m512i bit_field(__m512i v) {
  constexpr int kFrom = kBits * kField;
  const __m512i mask = _mm512_set1_epi8(static_cast<char>(((1 << kBits) - 1) << kTo));
  if constexpr (kFrom > kTo) v = _mm512_srli_epi16(v, kFrom - kTo);
  if constexpr (kFrom < kTo) v = _mm512_slli_epi16(v, kTo - kFrom);
  return _mm512_and_si512(v, mask);
}

// Plane of kBits at `run` (see pack_layout.h): the bits of quad kQuad, moved to bit kTo of each byte.
template <int kBits, int kQuad, int kTo>
TOCCATA_INLINE __m512i plane(const uint8_t* run) {
  if constexpr (kBits == 8) return load512(run + 64 * kQuad);
  if constexpr (kBits == 4) return bit_field<4, kQuad / 4, kTo>(load512(run + 64 * (kQuad % 4)));
  if constexpr (kBits == 2) return bit_field<2, kQuad % 4, kTo>(load512(run + 64 * (kQuad / 4)));
  if constexpr (kBits == 1) return bit_field<1, kQuad, kTo>(load512(run));
}

// Table of IQ4 values, or of MXFP4 values + 16, for vpshufb.
template <DType kType>
TOCCATA_INLINE __m512i value_table() {
  if constexpr (kType == DType::kMXFP4) {
    return _mm512_broadcast_i32x4(_mm_setr_epi8(16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4));
  } else {
    return _mm512_broadcast_i32x4(
        _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113));
  }
}

// 32 bytes, two for each row, as two int32 for each row: those of the even and of the odd sub-block of a pair.
template <bool kSigned, bool kOdd>
TOCCATA_INLINE __m512i byte_of_pair(__m256i v) {
  if constexpr (kSigned) {
    const __m512i pairs = _mm512_cvtepi8_epi16(v);
    return _mm512_srai_epi32(kOdd ? pairs : _mm512_slli_epi32(pairs, 16), 16);
  } else {
    const __m512i pairs = _mm512_cvtepu8_epi16(v);
    return kOdd ? _mm512_srli_epi32(pairs, 16) : _mm512_and_si512(pairs, _mm512_set1_epi32(0xffff));
  }
}

// int16 values of the even (k, k + 2) and odd (k + 1, k + 3) elements of a quad.
struct Pairs {
  __m512i v[2];
};

template <DType kType>
struct Direct {
  using T = Traits<kType>;
  static constexpr PackLayout p = T::kLayout;
  static constexpr int kRuns = p.elems / 32, kBytes = p.bytes;  // of a block
  static constexpr bool kTable = kType == DType::kIQ4_NL || kType == DType::kIQ4_XS || kType == DType::kMXFP4;

  static TOCCATA_INLINE const uint8_t* codes(const uint8_t* block, int run) {
    return block + p.codes + run * p.run_bytes();
  }

  template <int kQuad>
  static TOCCATA_INLINE __m512i quad(const uint8_t* codes) {
    __m512i v = plane<p.low_bits, kQuad, 0>(codes);
    if constexpr (p.high_bits > 0) {
      v = _mm512_or_si512(v, plane<p.high_bits, kQuad, p.low_bits>(codes + 64 * p.low_bits));
    }
    if constexpr (kTable) v = _mm512_shuffle_epi8(value_table<kType>(), v);
    return v;
  }

  // Wide codes as int16.
  template <int kQuad>
  static TOCCATA_INLINE Pairs pairs(const uint8_t* codes) {
    const __m512i v = quad<kQuad>(codes);
    if constexpr (T::kSigned) return {{_mm512_srai_epi16(_mm512_slli_epi16(v, 8), 8), _mm512_srai_epi16(v, 8)}};
    return {{_mm512_and_si512(v, _mm512_set1_epi16(0xff)), _mm512_srli_epi16(v, 8)}};
  }

  // Integer scales, as int32, of the run's sub-blocks (kFactors of them). kOdd: the run's parity.
  template <bool kOdd>
  static TOCCATA_INLINE void factors(const uint8_t* block, int run, __m512i* f) {
    if constexpr (T::kFactors > 0) {
      constexpr bool kSigned = kType != DType::kQ2_K;
      const int pair = T::kFactors == 2 ? run : run / 2;
      __m256i v = load256(block + p.sub_scale + 32 * pair);
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
  static TOCCATA_INLINE __m512 scale(const uint8_t* block, int run) {
    const __m256i bits = load256(block);
    if constexpr (kType == DType::kMXFP4) {
      return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
    }
    const __m512 d = _mm512_cvtph_ps(bits);
    if constexpr (kType == DType::kQ4_K || kType == DType::kQ5_K) {
      const __m256i bytes = load256(block + p.sub_scale + run / 2 * 32);
      return _mm512_mul_ps(d, _mm512_cvtepi32_ps(byte_of_pair<false, kOdd>(bytes)));
    }
    return d;
  }

  // kIndex: of the run's 16 elements (Q2_K), else 0.
  template <bool kOdd, int kIndex>
  static TOCCATA_INLINE __m512 min(const uint8_t* block, int run) {
    const __m512 m = _mm512_cvtph_ps(load256(block + p.min));
    if constexpr (p.subs == 0) return m;
    __m512i integers;
    if constexpr (kType == DType::kQ2_K) {
      const __m256i bytes = _mm256_srli_epi16(load256(block + p.sub_scale + run * 32), 4);
      integers = byte_of_pair<false, kIndex == 1>(_mm256_and_si256(bytes, _mm256_set1_epi8(15)));
    } else {
      integers = byte_of_pair<false, kOdd>(load256(block + p.sub_min + run / 2 * 32));
    }
    return _mm512_xor_ps(_mm512_mul_ps(m, _mm512_cvtepi32_ps(integers)), _mm512_set1_ps(-0.0f));
  }
};

}  // namespace
}  // namespace toccata::kernels::avx512
