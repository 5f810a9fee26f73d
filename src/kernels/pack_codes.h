// The codes of 32 consecutive elements of a GGUF block as eight quads: dwords of four bytes, byte j of quad q being
// the code of element 4 q + j. Everything works on whole dwords, four elements at a time (little-endian).
#pragma once

#include <cstdint>
#include <cstring>

#include "tensor/quant_blocks.h"

namespace toccata::kernels {

struct Quads {
  uint32_t q[8];
};

inline uint32_t load_dword(const void* p, int index = 0) {
  uint32_t v;
  std::memcpy(&v, static_cast<const uint8_t*>(p) + 4 * index, sizeof(v));
  return v;
}

// Replicates a small constant to all four bytes.
constexpr uint32_t bytes4(uint32_t v) { return v * 0x01010101u; }

// 16 bytes: element j in the low nibble, element j + 16 in the high one.
inline Quads nibbles_split_16(const uint8_t* qs) {
  Quads c;
  for (int i = 0; i < 4; ++i) {
    const uint32_t v = load_dword(qs, i);
    c.q[i] = v & bytes4(15);
    c.q[i + 4] = (v >> 4) & bytes4(15);
  }
  return c;
}

// Field `width` bits wide at bit `shift` of each of 32 bytes.
inline Quads fields(const uint8_t* qs, int shift, int width) {
  Quads c;
  const uint32_t mask = bytes4((1u << width) - 1);
  for (int i = 0; i < 8; ++i) c.q[i] = (load_dword(qs, i) >> shift) & mask;
  return c;
}

inline Quads combine(const Quads& low, const Quads& high, int shift) {
  Quads c;
  for (int i = 0; i < 8; ++i) c.q[i] = low.q[i] | high.q[i] << shift;
  return c;
}

// Bit k of 32 bits becomes byte k % 4 of quad k / 4. The multiplication copies a nibble n to the bit offsets 0, 7,
// 14 and 21, which puts bit j of n at bit 8 j; the copies do not overlap.
inline Quads spread_bits(const uint8_t* bits32) {
  const uint32_t bits = load_dword(bits32);
  Quads c;
  for (int i = 0; i < 8; ++i) c.q[i] = ((bits >> (4 * i)) & 15) * 0x00204081u & bytes4(1);
  return c;
}

inline Quads quads_of(const quant::Q8_0& b, int) {
  Quads c;
  std::memcpy(c.q, b.qs, sizeof(c.q));
  return c;
}
inline Quads quads_of(const quant::Q4_0& b, int) { return nibbles_split_16(b.qs); }
inline Quads quads_of(const quant::Q4_1& b, int) { return nibbles_split_16(b.qs); }
inline Quads quads_of(const quant::IQ4_NL& b, int) { return nibbles_split_16(b.qs); }
inline Quads quads_of(const quant::MXFP4& b, int) { return nibbles_split_16(b.qs); }
inline Quads quads_of(const quant::IQ4_XS& b, int run) { return nibbles_split_16(b.qs + 16 * run); }
inline Quads quads_of(const quant::Q5_0& b, int) { return combine(nibbles_split_16(b.qs), spread_bits(b.qh), 4); }
inline Quads quads_of(const quant::Q5_1& b, int) { return combine(nibbles_split_16(b.qs), spread_bits(b.qh), 4); }
inline Quads quads_of(const quant::Q2_K& b, int run) { return fields(b.qs + 32 * (run / 4), 2 * (run % 4), 2); }
inline Quads quads_of(const quant::Q3_K& b, int run) {
  return combine(fields(b.qs + 32 * (run / 4), 2 * (run % 4), 2), fields(b.hmask, run, 1), 2);
}
inline Quads quads_of(const quant::Q4_K& b, int run) { return fields(b.qs + 32 * (run / 2), 4 * (run % 2), 4); }
inline Quads quads_of(const quant::Q5_K& b, int run) {
  return combine(fields(b.qs + 32 * (run / 2), 4 * (run % 2), 4), fields(b.qh, run, 1), 4);
}
inline Quads quads_of(const quant::Q6_K& b, int run) {
  const int half = run / 4, g = run % 4;
  const Quads low = fields(b.ql + 64 * half + 32 * (g & 1), 4 * (g >> 1), 4);
  return combine(low, fields(b.qh + 32 * half, 2 * g, 2), 4);
}

}  // namespace toccata::kernels
