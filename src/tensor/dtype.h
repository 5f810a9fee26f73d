// Element types of tensors: plain floats and the quantised block formats of GGUF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace toccata {

enum class DType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ8_0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
  kMXFP4,
};
inline constexpr int kDTypeCount = 16;

struct DTypeInfo {
  std::string_view name;  // as GGUF tools print it: "Q4_K"
  uint32_t gguf_id;       // the type number in a GGUF tensor record
  int block_elems;        // elements per block (1 for plain floats)
  int block_bytes;        // bytes per block
};

const DTypeInfo& dtype_info(DType type);
std::optional<DType> dtype_from_gguf_id(uint32_t id);
std::optional<DType> dtype_from_name(std::string_view name);  // case-insensitive

// Bytes of one row of `cols` elements; cols must be a multiple of the block.
inline size_t row_bytes(DType type, int64_t cols) {
  const DTypeInfo& t = dtype_info(type);
  return static_cast<size_t>(cols / t.block_elems) * static_cast<size_t>(t.block_bytes);
}

}  // namespace toccata
