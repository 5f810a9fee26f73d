#include "kernels/matmul_testing.h"

#include <cstring>

#include "tensor/dequantize.h"
#include "tensor/half_fields.h"

namespace toccata::kernels::testing {
namespace {

std::byte* align(std::byte* p) { return reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(p) + 63) / 64 * 64); }

void put_half(std::byte* p, float v) {
  const uint16_t h = f32_to_f16(v);
  std::memcpy(p, &h, sizeof(h));
}

void put_float(DType type, std::byte* p, float v) {
  const uint16_t half = type == DType::kF16 ? f32_to_f16(v) : f32_to_bf16(v);
  if (type == DType::kF32)
    std::memcpy(p, &v, sizeof(v));
  else
    std::memcpy(p, &half, sizeof(half));
}

}  // namespace

std::vector<std::byte> make_rows(DType type, int64_t rows, int64_t cols, Fill fill, std::mt19937& rng) {
  std::vector<std::byte> bytes(static_cast<size_t>(rows) * row_bytes(type, cols));
  std::normal_distribution<float> normal;
  const DTypeInfo& info = dtype_info(type);
  const auto step = static_cast<size_t>(info.block_bytes);
  for (size_t at = 0; at < bytes.size(); at += step) {
    std::byte* block = bytes.data() + at;
    if (info.block_elems == 1) {
      put_float(type, block, normal(rng));
      continue;
    }
    const auto constant = static_cast<std::byte>(fill == Fill::kAllOneBits ? 255 : fill == Fill::kLowest ? 128 : 0);
    for (size_t i = 0; i < step; ++i) block[i] = fill == Fill::kRandom ? static_cast<std::byte>(rng()) : constant;
    const HalfFields h = half_fields(type);
    if (h.first >= 0) put_half(block + h.first, rng() % 16 == 0 ? 0.0f : 0.02f * normal(rng));
    if (h.second >= 0) put_half(block + h.second, 0.02f * normal(rng));
    if (type == DType::kMXFP4) block[0] = static_cast<std::byte>(rng() % 16 == 0 ? rng() % 3 : 118 + rng() % 8);
  }
  return bytes;
}

Packed::Packed(DType type, int64_t rows, int64_t cols, const std::vector<std::byte>& gguf) {
  m_.type = type;
  m_.rows = rows;
  m_.cols = cols;
  m_.group_bytes = packed_group_bytes(type, cols);
  storage_.resize(static_cast<size_t>(m_.groups()) * m_.group_bytes + 64);
  std::byte* data = align(storage_.data());
  m_.data = data;
  for (int64_t g = 0; g < m_.groups(); ++g) {
    const int64_t row = g * kGroupRows;
    pack_group(type, gguf.data() + static_cast<size_t>(row) * row_bytes(type, cols), cols,
               rows - row < kGroupRows ? rows - row : kGroupRows, data + static_cast<size_t>(g) * m_.group_bytes);
  }
}

Aligned::Aligned(size_t bytes) : storage_(bytes + 64, std::byte{0xa5}), data_(align(storage_.data())) {}

}  // namespace toccata::kernels::testing
