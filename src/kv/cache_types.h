// The element types of the KV cache by the names that options use.
#pragma once

#include <array>
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

inline std::string cache_type_names() {  // "f32, f16, ..."
  std::string names;
  for (const CacheType& t : kCacheTypes) names += (names.empty() ? "" : ", ") + std::string(t.name);
  return names;
}

}  // namespace toccata::kv
