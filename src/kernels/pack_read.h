// Scalar access to packed weights, for unpack_row and the generic kernels.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "kernels/pack_layout.h"
#include "tensor/dequantize.h"
#include "tensor/quant_blocks.h"

namespace toccata::kernels {

// Code of element 4 * quad + j (a bit field of `bits` bits) in the plane at `plane`, for one row of the group.
inline int read_field(const uint8_t* plane, int bits, int row, int quad, int j) {
  const uint8_t* at = plane + 4 * row + j;
  switch (bits) {
    case 8:
      return at[64 * quad];
    case 4:
      return (at[64 * (quad % 4)] >> (quad < 4 ? 0 : 4)) & 15;
    case 2:
      return (at[64 * (quad / 4)] >> (2 * (quad % 4))) & 3;
    default:
      return (at[0] >> quad) & 1;
  }
}

// The integer that a code stands for in products (offsets taken off, tables looked up).
inline int code_value(DType type, int code) {
  switch (type) {
    case DType::kQ4_0:
      return code - 8;
    case DType::kQ5_0:
      return code - 16;
    case DType::kQ3_K:
      return code - 4;
    case DType::kQ6_K:
      return code - 32;
    case DType::kQ8_0:
      return static_cast<int8_t>(code);
    case DType::kIQ4_NL:
    case DType::kIQ4_XS:
      return quant::kIQ4Values[code];
    case DType::kMXFP4:
      return quant::kMXFP4Values[code];
    default:
      return code;
  }
}

// The 32 integers of one run of codes for one row.
inline void read_run(DType type, const PackLayout& p, const uint8_t* run, int row, int* values) {
  for (int k = 0; k < 32; ++k) {
    int code = read_field(run, p.low_bits, row, k / 4, k % 4);
    if (p.high_bits > 0) code |= read_field(run + 64 * p.low_bits, p.high_bits, row, k / 4, k % 4) << p.low_bits;
    values[k] = code_value(type, code);
  }
}

inline uint16_t read_u16(const uint8_t* p) {
  uint16_t v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}

// Element `index` of a group of F32, F16 or BF16.
inline float read_float(DType type, const uint8_t* group, int64_t index) {
  if (type == DType::kF32) {
    float v;
    std::memcpy(&v, group + 4 * index, sizeof(v));
    return v;
  }
  const uint16_t bits = read_u16(group + 2 * index);
  return type == DType::kF16 ? f16_to_f32(bits) : bf16_to_f32(bits);
}

inline float read_scale(DType type, const uint8_t* block, int row) {
  const uint16_t bits = read_u16(block + 2 * row);
  return type == DType::kMXFP4 ? bf16_to_f32(bits) : f16_to_f32(bits);
}

inline float read_min(const PackLayout& p, const uint8_t* block, int row) {
  return p.min < 0 ? 0.0f : f16_to_f32(read_u16(block + p.min + 2 * row));
}

// Integer scale and minimum of sub-block g; 1 and 0 in formats without.
inline int read_sub_scale(DType type, const PackLayout& p, const uint8_t* block, int row, int g) {
  if (p.sub_scale < 0) return 1;
  const uint8_t v = block[p.sub_scale + g / 2 * 32 + 2 * row + g % 2];
  if (type == DType::kQ2_K) return v & 15;
  return type == DType::kQ4_K || type == DType::kQ5_K ? v : static_cast<int8_t>(v);
}

inline int read_sub_min(DType type, const PackLayout& p, const uint8_t* block, int row, int g) {
  const int at = g / 2 * 32 + 2 * row + g % 2;
  if (type == DType::kQ2_K) return block[p.sub_scale + at] >> 4;
  return p.sub_min < 0 ? 0 : block[p.sub_min + at];
}

}  // namespace toccata::kernels
