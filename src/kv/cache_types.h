// The element types of the KV cache by the names that options use.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/dtype.h"

namespace toccata::kv {

struct CacheType {
  std::string_view name;
  DType type;
};

inline constexpr std::array<CacheType, 5> kCacheTypes = {{{"f32", DType::kF32},
                                                          {"f16", DType::kF16},
                                                          {"bf16", DType::kBF16},
                                                          {"q8_0", DType::kQ8_0},
                                                          {"q4_0", DType::kQ4_0}}};

inline std::optional<DType> cache_type(std::string_view name) {
  for (const CacheType& t : kCacheTypes) {
    if (t.name == name) return t.type;
  }
  return std::nullopt;
}

// Whether K (with the queries) and V (with the output turned back) are rotated by a Hadamard transform of each head
// before they are stored: it spreads outliers over all channels, which coarse codes need and fine ones do not.
enum class Rotation : uint8_t { kAuto, kOn, kOff };

inline bool rotates(Rotation rotation, DType type) {
  return rotation == Rotation::kOn || (rotation == Rotation::kAuto && type == DType::kQ4_0);
}

inline std::optional<Rotation> rotation(std::string_view name) {  // "auto", "on" or "off"
  if (name == "auto") return Rotation::kAuto;
  if (name == "on") return Rotation::kOn;
  if (name == "off") return Rotation::kOff;
  return std::nullopt;
}

inline std::string cache_type_names() {  // "f32, f16, ..."
  std::string names;
  for (const CacheType& t : kCacheTypes) names += (names.empty() ? "" : ", ") + std::string(t.name);
  return names;
}

}  // namespace toccata::kv
