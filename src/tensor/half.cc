// IEEE half and bfloat16 conversions. NaNs become quiet and keep their upper payload bits, as VCVTPH2PS and VCVTPS2PH
// do, so that kernels that use these instructions equal the scalar code on every input.
#include <bit>

#include "tensor/dequantize.h"

namespace toccata {

float f16_to_f32(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  const uint32_t magnitude = h & 0x7fff;
  uint32_t bits;
  if (magnitude < 0x400) {  // zero or subnormal: an integer number of 2^-24, exact in f32
    bits = std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
  } else if (magnitude < 0x7c00) {
    bits = (magnitude << 13) + (112u << 23);  // exponent bias 15 becomes 127
  } else {
    bits = 0x7f800000 | (magnitude & 0x3ff) << 13 | (magnitude > 0x7c00 ? 0x400000 : 0);
  }
  return std::bit_cast<float>(sign | bits);
}

uint16_t f32_to_f16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  uint32_t half;
  if (magnitude > 0x7f800000) {
    half = 0x7e00 | ((magnitude >> 13) & 0x3ff);
  } else if (magnitude >= 0x477ff000) {  // 65520 and above: halfway past the largest half, so infinity
    half = 0x7c00;
  } else if (magnitude < 0x38800000) {
    // Below 2^-14. The unit of [0.5, 1) is 2^-24, that of a subnormal half, so the addition rounds as needed.
    half = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
  } else {
    const uint32_t odd = (magnitude >> 13) & 1;
    half = ((magnitude + 0xfff + odd) >> 13) - (112u << 10);
  }
  return static_cast<uint16_t>(sign | half);
}

float bf16_to_f32(uint16_t h) { return std::bit_cast<float>(static_cast<uint32_t>(h) << 16); }

uint16_t f32_to_bf16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace toccata
