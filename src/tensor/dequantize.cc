// Every product and sum below is one f32 operation in the order that quant_blocks.h gives; no fused operation.
#include "tensor/dequantize.h"

#include <bit>
#include <cstring>

#include "base/check.h"
#include "tensor/quant_blocks.h"

namespace toccata {
namespace {

using quant::kSuperBlock;

float f(int v) { return static_cast<float>(v); }

int nibble(const uint8_t* qs, int j) { return j < 16 ? qs[j] & 15 : qs[j - 16] >> 4; }

int fifth_bit(const uint8_t* qh, int j) { return ((qh[j / 8] >> (j % 8)) & 1) << 4; }

void unpack(const quant::Q4_0& b, float* y) {
  const float d = f16_to_f32(b.d);
  for (int j = 0; j < 32; ++j) y[j] = d * f(nibble(b.qs, j) - 8);
}

void unpack(const quant::Q4_1& b, float* y) {
  const float d = f16_to_f32(b.d), m = f16_to_f32(b.m);
  for (int j = 0; j < 32; ++j) y[j] = d * f(nibble(b.qs, j)) + m;
}

void unpack(const quant::Q5_0& b, float* y) {
  const float d = f16_to_f32(b.d);
  for (int j = 0; j < 32; ++j) y[j] = d * f((nibble(b.qs, j) | fifth_bit(b.qh, j)) - 16);
}

void unpack(const quant::Q5_1& b, float* y) {
  const float d = f16_to_f32(b.d), m = f16_to_f32(b.m);
  for (int j = 0; j < 32; ++j) y[j] = d * f(nibble(b.qs, j) | fifth_bit(b.qh, j)) + m;
}

void unpack(const quant::Q8_0& b, float* y) {
  const float d = f16_to_f32(b.d);
  for (int j = 0; j < 32; ++j) y[j] = d * f(b.qs[j]);
}

void unpack(const quant::IQ4_NL& b, float* y) {
  const float d = f16_to_f32(b.d);
  for (int j = 0; j < 32; ++j) y[j] = d * f(quant::kIQ4Values[nibble(b.qs, j)]);
}

void unpack(const quant::MXFP4& b, float* y) {
  const float d = std::bit_cast<float>(quant::mxfp4_scale_bits(b.e));
  for (int j = 0; j < 32; ++j) y[j] = d * f(quant::kMXFP4Values[nibble(b.qs, j)]);
}

// The 2-bit part of element i, shared by Q2_K and Q3_K.
int two_bits(const uint8_t* qs, int i) {
  const int half = i / 128, group = i % 128 / 32;
  return (qs[half * 32 + i % 32] >> (2 * group)) & 3;
}

void unpack(const quant::Q2_K& b, float* y) {
  const float d = f16_to_f32(b.d), dmin = f16_to_f32(b.dmin);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int s = b.scales[i / 16];
    const float scale = d * f(s & 15), min = dmin * f(s >> 4);
    y[i] = scale * f(two_bits(b.qs, i)) - min;
  }
}

void unpack(const quant::Q3_K& b, float* y) {
  const float d = f16_to_f32(b.d);
  for (int i = 0; i < kSuperBlock; ++i) {
    const float scale = d * f(quant::q3_k_scale(b.scales, i / 16) - 32);
    const bool keep = (b.hmask[i % 32] >> (i / 32)) & 1;
    y[i] = scale * f(two_bits(b.qs, i) - (keep ? 0 : 4));
  }
}

// The nibble of element i in the K formats with 4 and 5 bits.
int k4_nibble(const uint8_t* qs, int i) {
  const int pair = i / 64;
  return (qs[pair * 32 + i % 32] >> (i % 64 < 32 ? 0 : 4)) & 15;
}

void unpack(const quant::Q4_K& b, float* y) {
  const float d = f16_to_f32(b.d), dmin = f16_to_f32(b.dmin);
  for (int i = 0; i < kSuperBlock; ++i) {
    const auto s = quant::k4_scale_min(b.scales, i / 32);
    const float scale = d * f(s.scale), min = dmin * f(s.min);
    y[i] = scale * f(k4_nibble(b.qs, i)) - min;
  }
}

void unpack(const quant::Q5_K& b, float* y) {
  const float d = f16_to_f32(b.d), dmin = f16_to_f32(b.dmin);
  for (int i = 0; i < kSuperBlock; ++i) {
    const auto s = quant::k4_scale_min(b.scales, i / 32);
    const float scale = d * f(s.scale), min = dmin * f(s.min);
    const int high = ((b.qh[i % 32] >> (i / 32)) & 1) << 4;
    y[i] = scale * f(k4_nibble(b.qs, i) | high) - min;
  }
}

void unpack(const quant::Q6_K& b, float* y) {
  const float d = f16_to_f32(b.d);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int half = i / 128, group = i % 128 / 32, l = i % 32;
    const int low = (b.ql[half * 64 + (group & 1) * 32 + l] >> (group < 2 ? 0 : 4)) & 15;
    const int high = (b.qh[half * 32 + l] >> (2 * group)) & 3;
    const float scale = d * f(b.scales[i / 16]);
    y[i] = scale * f((low | high << 4) - 32);
  }
}

void unpack(const quant::IQ4_XS& b, float* y) {
  const float d = f16_to_f32(b.d);
  for (int g = 0; g < kSuperBlock / 32; ++g) {
    const float scale = d * f(quant::iq4_xs_scale(b, g) - 32);
    for (int j = 0; j < 32; ++j) y[g * 32 + j] = scale * f(quant::kIQ4Values[nibble(b.qs + g * 16, j)]);
  }
}

// Rows in a file need not be aligned for Block, so each block is copied out first.
template <class Block, int kElems>
void unpack_row(const std::byte* src, int64_t cols, float* dst) {
  for (int64_t i = 0; i < cols; i += kElems, src += sizeof(Block)) {
    Block block;
    std::memcpy(&block, src, sizeof(block));
    unpack(block, dst + i);
  }
}

template <float (*kConvert)(uint16_t)>
void convert_row(const std::byte* src, int64_t cols, float* dst) {
  for (int64_t i = 0; i < cols; ++i) {
    uint16_t h;
    std::memcpy(&h, src + 2 * i, sizeof(h));
    dst[i] = kConvert(h);
  }
}

}  // namespace

void dequantize_row(DType type, const std::byte* src, int64_t cols, float* dst) {
  TOCCATA_CHECK(cols >= 0 && cols % dtype_info(type).block_elems == 0);
  switch (type) {
    case DType::kF32:
      if (cols > 0) std::memcpy(dst, src, static_cast<size_t>(cols) * sizeof(float));
      return;
    case DType::kF16:
      return convert_row<f16_to_f32>(src, cols, dst);
    case DType::kBF16:
      return convert_row<bf16_to_f32>(src, cols, dst);
    case DType::kQ8_0:
      return unpack_row<quant::Q8_0, 32>(src, cols, dst);
    case DType::kQ4_0:
      return unpack_row<quant::Q4_0, 32>(src, cols, dst);
    case DType::kQ4_1:
      return unpack_row<quant::Q4_1, 32>(src, cols, dst);
    case DType::kQ5_0:
      return unpack_row<quant::Q5_0, 32>(src, cols, dst);
    case DType::kQ5_1:
      return unpack_row<quant::Q5_1, 32>(src, cols, dst);
    case DType::kQ2_K:
      return unpack_row<quant::Q2_K, kSuperBlock>(src, cols, dst);
    case DType::kQ3_K:
      return unpack_row<quant::Q3_K, kSuperBlock>(src, cols, dst);
    case DType::kQ4_K:
      return unpack_row<quant::Q4_K, kSuperBlock>(src, cols, dst);
    case DType::kQ5_K:
      return unpack_row<quant::Q5_K, kSuperBlock>(src, cols, dst);
    case DType::kQ6_K:
      return unpack_row<quant::Q6_K, kSuperBlock>(src, cols, dst);
    case DType::kIQ4_NL:
      return unpack_row<quant::IQ4_NL, 32>(src, cols, dst);
    case DType::kIQ4_XS:
      return unpack_row<quant::IQ4_XS, kSuperBlock>(src, cols, dst);
    case DType::kMXFP4:
      return unpack_row<quant::MXFP4, 32>(src, cols, dst);
  }
}

}  // namespace toccata
