// Exact conversion of GGUF rows to f32: the definition of every format, and the oracle of the kernels' tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace toccata {

// src: one row of `cols` elements in GGUF's layout; dst: cols floats.
void dequantize_row(DType type, const std::byte* src, int64_t cols, float* dst);

// IEEE half and bfloat16 conversions; to_* round to nearest even.
float f16_to_f32(uint16_t h);
uint16_t f32_to_f16(float f);
float bf16_to_f32(uint16_t h);
uint16_t f32_to_bf16(float f);

}  // namespace toccata
