// Byte layouts of GGUF's quantised blocks, as the ggml project defines them, and the value tables that kernels share.
//
// All multi-byte fields are little-endian; scales named d, m and dmin are IEEE halves kept as their bits. A block of
// 32 stores element j in the low nibble of qs[j] and element j + 16 in the high nibble. A super-block of 256 holds 8
// or 16 sub-blocks whose scales are themselves quantised.
#pragma once

#include <cstdint>

namespace toccata::quant {

inline constexpr int kBlock = 32;        // elements of a plain block
inline constexpr int kSuperBlock = 256;  // elements of a K or IQ4_XS super-block

// y = d * (q - 8)
struct Q4_0 {
  uint16_t d;
  uint8_t qs[16];
};
// y = d * q + m
struct Q4_1 {
  uint16_t d, m;
  uint8_t qs[16];
};
// y = d * (q - 16); bit j of qh (little-endian) is the fifth bit of element j
struct Q5_0 {
  uint16_t d;
  uint8_t qh[4];
  uint8_t qs[16];
};
// y = d * q + m; qh as in Q5_0
struct Q5_1 {
  uint16_t d, m;
  uint8_t qh[4];
  uint8_t qs[16];
};
// y = d * q
struct Q8_0 {
  uint16_t d;
  int8_t qs[32];
};

// 16 sub-blocks of 16: y = (d * (scale & 15)) * q - dmin * (scale >> 4). Each half of 128 elements uses 32 bytes of
// qs; the four groups of 32 in a half lie in bits 0-1, 2-3, 4-5 and 6-7.
struct Q2_K {
  uint8_t scales[16];
  uint8_t qs[64];
  uint16_t d, dmin;
};
// 16 sub-blocks of 16: y = (d * (scale - 32)) * q, q in [-4, 3]. qs as in Q2_K; bit g of hmask[l] belongs to element
// 32 g + l and says "do not subtract 4". Scales: see q3_k_scale.
struct Q3_K {
  uint8_t hmask[32];
  uint8_t qs[64];
  uint8_t scales[12];
  uint16_t d;
};
// 8 sub-blocks of 32: y = (d * scale) * q - dmin * min. Sub-blocks 2 g and 2 g + 1 share 32 bytes of qs, low and high
// nibbles. Scales: see k4_scale_min.
struct Q4_K {
  uint16_t d, dmin;
  uint8_t scales[12];
  uint8_t qs[128];
};
// As Q4_K, with bit g of qh[l] the fifth bit of element 32 g + l.
struct Q5_K {
  uint16_t d, dmin;
  uint8_t scales[12];
  uint8_t qh[32];
  uint8_t qs[128];
};
// 16 sub-blocks of 16: y = (d * scale) * (q - 32). Each half of 128 elements uses 64 bytes of ql and 32 of qh: the
// groups of 32 take the low nibbles of ql[0..31], of ql[32..63], then the high nibbles of both, and bits 0-1, 2-3,
// 4-5, 6-7 of qh.
struct Q6_K {
  uint8_t ql[128];
  uint8_t qh[64];
  int8_t scales[16];
  uint16_t d;
};

// y = d * kIQ4Values[q]
struct IQ4_NL {
  uint16_t d;
  uint8_t qs[16];
};
// 8 sub-blocks of 32: y = (d * (scale - 32)) * kIQ4Values[q]; sub-block g has 16 bytes of qs in the order of IQ4_NL.
// Its scale: nibble g of scales_l and bits 2 g, 2 g + 1 of scales_h above it.
struct IQ4_XS {
  uint16_t d;
  uint16_t scales_h;
  uint8_t scales_l[4];
  uint8_t qs[128];
};
// OCP Microscaling FP4 (e2m1) with a shared exponent: y = 2^(e - 128) * kMXFP4Values[q]. The table holds twice the
// value, hence 128 and not 127. e = 255, a NaN in the OCP standard, is 2^127 in GGUF.
struct MXFP4 {
  uint8_t e;
  uint8_t qs[16];
};

static_assert(sizeof(Q4_0) == 18 && sizeof(Q4_1) == 20 && sizeof(Q5_0) == 22 && sizeof(Q5_1) == 24);
static_assert(sizeof(Q8_0) == 34 && sizeof(IQ4_NL) == 18 && sizeof(MXFP4) == 17 && sizeof(IQ4_XS) == 136);
static_assert(sizeof(Q2_K) == 84 && sizeof(Q3_K) == 110 && sizeof(Q4_K) == 144 && sizeof(Q5_K) == 176);
static_assert(sizeof(Q6_K) == 210);

// Non-uniform 4-bit levels of IQ4_NL and IQ4_XS.
inline constexpr int8_t kIQ4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// Twice the value of each e2m1 code; code 8 is a zero without sign.
inline constexpr int8_t kMXFP4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Bits of the float 2^(e - 128). 2^-128 and 2^-127 are subnormal: they are single mantissa bits.
constexpr uint32_t mxfp4_scale_bits(uint8_t e) {
  return e < 2 ? 0x00200000u << e : (static_cast<uint32_t>(e) - 1) << 23;
}

// The 6-bit scale of sub-block g (0..15) of Q3_K, before 32 is subtracted: the low four bits are nibbles of bytes
// 0..7 (low nibbles first), the high two bits are pairs of bits in bytes 8..11.
constexpr int q3_k_scale(const uint8_t* scales, int g) {
  const int low = (scales[g & 7] >> (g < 8 ? 0 : 4)) & 15;
  const int high = (scales[8 + (g & 3)] >> (2 * (g >> 2))) & 3;
  return low | high << 4;
}

struct ScaleMin {
  uint8_t scale, min;
};

// The 6-bit scale and minimum of sub-block g (0..7) of Q4_K and Q5_K. For g < 4 they are the low six bits of bytes g
// and g + 4; for g >= 4 byte g + 4 holds both low nibbles, and the top two bits of bytes g - 4 and g complete them.
constexpr ScaleMin k4_scale_min(const uint8_t* scales, int g) {
  if (g < 4) return {static_cast<uint8_t>(scales[g] & 63), static_cast<uint8_t>(scales[g + 4] & 63)};
  const int both = scales[g + 4];
  return {static_cast<uint8_t>((both & 15) | (scales[g - 4] >> 6) << 4),
          static_cast<uint8_t>((both >> 4) | (scales[g] >> 6) << 4)};
}

// The 6-bit scale of sub-block g (0..7) of IQ4_XS, before 32 is subtracted.
constexpr int iq4_xs_scale(const IQ4_XS& b, int g) {
  return ((b.scales_l[g / 2] >> (4 * (g & 1))) & 15) | ((b.scales_h >> (2 * g)) & 3) << 4;
}

}  // namespace toccata::quant
