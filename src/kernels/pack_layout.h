// Byte layout of packed weights.
//
// A group is 16 output rows; its blocks follow each other in ascending k, and a block is one contiguous record:
//
//   scale       16 x f16 (bf16 for MXFP4, whose scales are powers of two down to 2^-128)
//   min         16 x f16                       formats with a minimum
//   sub-scales  [pair of sub-blocks][16 rows][2] bytes: int8, or uint8 (Q2_K: scale | min << 4 as in the file)
//   sub-mins    [pair of sub-blocks][16 rows][2] bytes, so that a multiply-add of int16 pairs adds two sub-blocks
//   codes       for each run of 32 elements, the base plane (8, 4 or 2 bits a code), then the high plane (0, 1, 2)
//
// Codes lie as "quads": 4 consecutive k of 16 rows are 16 dwords = 64 bytes, row r's four codes in dword r. Quad q
// (0..7) of a run of 32 is found as follows, in 64-byte vectors:
//   8 bits  vector q
//   4 bits  vector q % 4, low nibbles for q < 4, else high nibbles
//   2 bits  vector q / 4, bits 2 (q % 4) and up
//   1 bit   vector 0, bit q
// The size is that of the file but for K formats, whose 6-bit sub-block scales become bytes (Q4_K + 2.8 %).
// F32, F16 and BF16 keep their elements: [k][16 rows].
#pragma once

#include <cstdint>

#include "kernels/matmul.h"

namespace toccata::kernels {

struct PackLayout {
  int elems = 1;       // elements of k per block
  int bytes = 0;       // bytes per block of 16 rows
  int low_bits = 0;    // bits per code in the base plane
  int high_bits = 0;   // bits per code in the high plane
  int subs = 0;        // sub-blocks with a scale of their own, 0 without
  int min = -1;        // offset of the f16 minima
  int sub_scale = -1;  // offsets of the sub-block scales and minima
  int sub_min = -1;
  int codes = 0;  // offset of the codes of the first run of 32
  constexpr int run_bytes() const { return 64 * (low_bits + high_bits); }
};

// mins: 0 none, 1 one f16 per row, 2 also a byte per sub-block (Q2_K keeps it in the sub-scale byte).
constexpr PackLayout quant_layout(int elems, int low_bits, int high_bits, int subs, int mins) {
  PackLayout p;
  p.elems = elems;
  p.low_bits = low_bits;
  p.high_bits = high_bits;
  p.subs = subs;
  int at = 2 * kGroupRows;
  if (mins > 0) p.min = at, at += 2 * kGroupRows;
  if (subs > 0) p.sub_scale = at, at += subs * kGroupRows;
  if (mins > 1) p.sub_min = at, at += subs * kGroupRows;
  p.codes = at;
  p.bytes = at + elems / 32 * 64 * (low_bits + high_bits);
  return p;
}

constexpr PackLayout float_layout(int bytes) {
  PackLayout p;
  p.bytes = bytes * kGroupRows;
  return p;
}

constexpr PackLayout pack_layout(DType type) {
  switch (type) {
    case DType::kF32:
      return float_layout(4);
    case DType::kF16:
      return float_layout(2);
    case DType::kBF16:
      return float_layout(2);
    case DType::kQ8_0:
      return quant_layout(32, 8, 0, 0, 0);
    case DType::kQ4_0:
      return quant_layout(32, 4, 0, 0, 0);
    case DType::kQ4_1:
      return quant_layout(32, 4, 0, 0, 1);
    case DType::kQ5_0:
      return quant_layout(32, 4, 1, 0, 0);
    case DType::kQ5_1:
      return quant_layout(32, 4, 1, 0, 1);
    case DType::kQ2_K:
      return quant_layout(256, 2, 0, 16, 1);
    case DType::kQ3_K:
      return quant_layout(256, 2, 1, 16, 0);
    case DType::kQ4_K:
      return quant_layout(256, 4, 0, 8, 2);
    case DType::kQ5_K:
      return quant_layout(256, 4, 1, 8, 2);
    case DType::kQ6_K:
      return quant_layout(256, 4, 2, 16, 0);
    case DType::kIQ4_NL:
      return quant_layout(32, 4, 0, 0, 0);
    case DType::kIQ4_XS:
      return quant_layout(256, 4, 0, 8, 0);
    case DType::kMXFP4:
      return quant_layout(32, 4, 0, 0, 0);
  }
  return {};
}

static_assert(pack_layout(DType::kQ4_0).bytes == 16 * 18 && pack_layout(DType::kQ5_1).bytes == 16 * 24);
static_assert(pack_layout(DType::kQ6_K).bytes == 16 * 210 && pack_layout(DType::kQ2_K).bytes == 16 * 84);

}  // namespace toccata::kernels
