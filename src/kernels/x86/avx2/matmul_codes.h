// Where the micro-kernels of the quantised formats take their weights from: the packed matrix, unpacked in registers
// (Direct), or a scratch panel of plain bytes that was unpacked once for many tokens (Panel). Both offer the same
// static functions for 8 rows of a group. Offsets to the second half of a group's rows: 32 bytes in vectors of codes,
// kHalfBytes in the arrays of scales.
#pragma once

#include <immintrin.h>
#include <stdint.h>

#include "kernels/pack_layout.h"
#include "tensor/quant_blocks.h"

namespace toccata::kernels::avx2 {
namespace {

#define TOCCATA_INLINE inline __attribute__((always_inline))
#define TOCCATA_LAMBDA __attribute__((always_inline))

TOCCATA_INLINE __m256i load256(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
TOCCATA_INLINE void store256(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
TOCCATA_INLINE __m128i load128(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
TOCCATA_INLINE __m256i load128x2(const void* p) { return _mm256_broadcastsi128_si256(load128(p)); }
TOCCATA_INLINE __m256i broadcast4(const void* p) {
  int v;
  __builtin_memcpy(&v, p, sizeof(v));
  return _mm256_set1_epi32(v);
}
TOCCATA_INLINE __m256 broadcast_f32(const float* p) { return _mm256_broadcast_ss(p); }

// How a format's codes enter the products.
template <DType kType>
struct Traits {
  static constexpr PackLayout kLayout = pack_layout(kType);
  // Signed bytes of the full range; otherwise unsigned bytes u of at most 6 bits.
  static constexpr bool kSigned = kType == DType::kQ8_0 || kType == DType::kIQ4_NL || kType == DType::kIQ4_XS;
  // u = value + 2^kCentre; 0: u = value.
  static constexpr int kCentre = kType == DType::kQ4_0                             ? 3
                                 : kType == DType::kQ5_0 || kType == DType::kMXFP4 ? 4
                                 : kType == DType::kQ6_K                           ? 5
                                 : kType == DType::kQ3_K                           ? 2
                                                                                   : 0;
  static constexpr bool kMin = kLayout.min >= 0;
  // Quads that are added up in int16 before they are widened. The sum in a lane, 2 products a quad, must fit:
  //   Q4_0 16*8*127, Q4_1 and Q4_K 16*15*127 = 30,480, MXFP4 16*12*127, Q5_0 16*16*127 = 32,512      (8 quads)
  //   Q5_1 and Q5_K 8*31*127 = 31,496; Q6_K 8*32*127 = 32,512; Q3_K, Q2_K: sub-blocks of 16 elements (4 quads)
  // and one vpmaddubsw, whose sums saturate, must never: 2*63*127 = 16,002.
  static constexpr int kQuads = kType == DType::kQ5_1 || kType == DType::kQ5_K || kLayout.subs == 16 ? 4 : 8;
};

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

template <DType kType>
struct Direct {
  using T = Traits<kType>;
  static constexpr PackLayout p = T::kLayout;
  static constexpr int kBlockBytes = p.bytes, kCodes = p.codes, kRunBytes = p.run_bytes();
  static constexpr int kHalfBytes = 16;
  static constexpr bool kTable = kType == DType::kIQ4_NL || kType == DType::kIQ4_XS || kType == DType::kMXFP4;

  template <int kQuad>
  static TOCCATA_INLINE __m256i quad(const uint8_t* run) {
    if constexpr (p.low_bits == 8) {
      return load256(run + 64 * kQuad);
    } else {
      __m256i v = plane<p.low_bits, kQuad, 0>(run);
      if constexpr (p.high_bits > 0) {
        v = _mm256_or_si256(v, plane<p.high_bits, kQuad, p.low_bits>(run + 64 * p.low_bits));
      }
      if constexpr (kTable) v = _mm256_shuffle_epi8(value_table<kType>(), v);
      return v;
    }
  }

  static TOCCATA_INLINE __m256 scale(const uint8_t* block, int half) {
    const __m128i bits = load128(block + 16 * half);
    if constexpr (kType == DType::kMXFP4) {
      return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
    } else {
      return _mm256_cvtph_ps(bits);
    }
  }
  static TOCCATA_INLINE __m256 min(const uint8_t* block, int half) {
    return _mm256_cvtph_ps(load128(block + p.min + 16 * half));
  }

  // Scales of the even or odd sub-block of a pair as int16, twice in each dword.
  template <bool kOdd>
  static TOCCATA_INLINE __m256i sub_scale(const uint8_t* block, int half, int pair) {
    __m256i v = load128x2(block + p.sub_scale + 32 * pair + 16 * half);
    constexpr char o = kOdd ? 1 : 0, z = -128;  // z: a zero byte
    if constexpr (kType == DType::kQ4_K || kType == DType::kQ5_K || kType == DType::kQ2_K) {
      if constexpr (kType == DType::kQ2_K) v = _mm256_and_si256(v, _mm256_set1_epi8(15));
      return _mm256_shuffle_epi8(
          v, _mm256_setr_epi8(o, z, o, z, 2 + o, z, 2 + o, z, 4 + o, z, 4 + o, z, 6 + o, z, 6 + o, z, 8 + o, z, 8 + o,
                              z, 10 + o, z, 10 + o, z, 12 + o, z, 12 + o, z, 14 + o, z, 14 + o, z));
    } else {  // signed: into the upper byte, then an arithmetic shift
      v = _mm256_shuffle_epi8(
          v, _mm256_setr_epi8(z, o, z, o, z, 2 + o, z, 2 + o, z, 4 + o, z, 4 + o, z, 6 + o, z, 6 + o, z, 8 + o, z,
                              8 + o, z, 10 + o, z, 10 + o, z, 12 + o, z, 12 + o, z, 14 + o, z, 14 + o));
      return _mm256_srai_epi16(v, 8);
    }
  }

  // Minima of both sub-blocks of a pair as int16 pairs.
  static TOCCATA_INLINE __m256i sub_min(const uint8_t* block, int half, int pair) {
    constexpr int at = kType == DType::kQ2_K ? p.sub_scale : p.sub_min;
    const __m256i v = _mm256_cvtepu8_epi16(load128(block + at + 32 * pair + 16 * half));
    return kType == DType::kQ2_K ? _mm256_srli_epi16(v, 4) : v;
  }
};

// A block in the panel: [f32 scale x 16][f32 min x 16][int16 sub-scales, twice, x 16 per sub-block]
// [int16 sub-minima, in pairs, x 16 per pair][codes as bytes, 64 per quad].
template <DType kType>
struct Panel {
  using T = Traits<kType>;
  static constexpr PackLayout p = T::kLayout;
  static constexpr int kHalfBytes = 32;
  static constexpr int kMinAt = 64;
  static constexpr int kSubScale = kMinAt + (T::kMin ? 64 : 0);
  static constexpr int kSubMin = kSubScale + 64 * p.subs;
  static constexpr int kCodes = kSubMin + (T::kMin ? 32 * p.subs : 0);
  static constexpr int kRunBytes = 512;
  static constexpr int kBlockBytes = kCodes + p.elems / 32 * kRunBytes;

  template <int kQuad>
  static TOCCATA_INLINE __m256i quad(const uint8_t* run) {
    return load256(run + 64 * kQuad);
  }
  static TOCCATA_INLINE __m256 scale(const uint8_t* block, int half) {
    return _mm256_castsi256_ps(load256(block + 32 * half));
  }
  static TOCCATA_INLINE __m256 min(const uint8_t* block, int half) {
    return _mm256_castsi256_ps(load256(block + kMinAt + 32 * half));
  }
  template <bool kOdd>
  static TOCCATA_INLINE __m256i sub_scale(const uint8_t* block, int half, int pair) {
    return load256(block + kSubScale + 64 * (2 * pair + (kOdd ? 1 : 0)) + 32 * half);
  }
  static TOCCATA_INLINE __m256i sub_min(const uint8_t* block, int half, int pair) {
    return load256(block + kSubMin + 64 * pair + 32 * half);
  }
};

}  // namespace
}  // namespace toccata::kernels::avx2
