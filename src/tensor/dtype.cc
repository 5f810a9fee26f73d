#include "tensor/dtype.h"

#include <algorithm>
#include <array>

#include "tensor/quant_blocks.h"

namespace toccata {
namespace {

template <class Block>
constexpr int bytes_of() {
  return static_cast<int>(sizeof(Block));
}

using quant::kBlock;
using quant::kSuperBlock;

// In the order of DType.
constexpr std::array<DTypeInfo, kDTypeCount> kTypes = {{
    {"F32", 0, 1, 4},
    {"F16", 1, 1, 2},
    {"BF16", 30, 1, 2},
    {"Q8_0", 8, kBlock, bytes_of<quant::Q8_0>()},
    {"Q4_0", 2, kBlock, bytes_of<quant::Q4_0>()},
    {"Q4_1", 3, kBlock, bytes_of<quant::Q4_1>()},
    {"Q5_0", 6, kBlock, bytes_of<quant::Q5_0>()},
    {"Q5_1", 7, kBlock, bytes_of<quant::Q5_1>()},
    {"Q2_K", 10, kSuperBlock, bytes_of<quant::Q2_K>()},
    {"Q3_K", 11, kSuperBlock, bytes_of<quant::Q3_K>()},
    {"Q4_K", 12, kSuperBlock, bytes_of<quant::Q4_K>()},
    {"Q5_K", 13, kSuperBlock, bytes_of<quant::Q5_K>()},
    {"Q6_K", 14, kSuperBlock, bytes_of<quant::Q6_K>()},
    {"IQ4_NL", 20, kBlock, bytes_of<quant::IQ4_NL>()},
    {"IQ4_XS", 23, kSuperBlock, bytes_of<quant::IQ4_XS>()},
    {"MXFP4", 39, kBlock, bytes_of<quant::MXFP4>()},
}};

constexpr char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

template <class Predicate>
std::optional<DType> find_type(Predicate matches) {
  const auto* it = std::find_if(kTypes.begin(), kTypes.end(), matches);
  if (it == kTypes.end()) return std::nullopt;
  return static_cast<DType>(it - kTypes.begin());
}

}  // namespace

const DTypeInfo& dtype_info(DType type) { return kTypes[static_cast<size_t>(type)]; }

std::optional<DType> dtype_from_gguf_id(uint32_t id) {
  return find_type([id](const DTypeInfo& t) { return t.gguf_id == id; });
}

std::optional<DType> dtype_from_name(std::string_view name) {
  return find_type([name](const DTypeInfo& t) {
    return std::equal(name.begin(), name.end(), t.name.begin(), t.name.end(),
                      [](char a, char b) { return upper(a) == upper(b); });
  });
}

}  // namespace toccata
