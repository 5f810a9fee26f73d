#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <set>

namespace toccata {
namespace {

TEST(DType, NamesAndNumbersRoundTrip) {
  std::set<uint32_t> ids;
  for (int t = 0; t < kDTypeCount; ++t) {
    const auto type = static_cast<DType>(t);
    const DTypeInfo& info = dtype_info(type);
    EXPECT_EQ(dtype_from_gguf_id(info.gguf_id), type) << info.name;
    EXPECT_EQ(dtype_from_name(info.name), type);
    EXPECT_TRUE(ids.insert(info.gguf_id).second) << info.name;
  }
}

TEST(DType, NamesIgnoreCase) {
  EXPECT_EQ(dtype_from_name("q4_k"), DType::kQ4_K);
  EXPECT_EQ(dtype_from_name("mxfp4"), DType::kMXFP4);
  EXPECT_EQ(dtype_from_name("bF16"), DType::kBF16);
}

TEST(DType, OtherNamesAndNumbersAreUnknown) {
  for (const char* name : {"", "Q4", "Q4_K_M", "Q4_", "F64", "F322"}) EXPECT_FALSE(dtype_from_name(name)) << name;
  for (uint32_t id : {4u, 5u, 9u, 15u, 16u, 28u, 31u, 40u, 1000u, 0xffffffffu}) EXPECT_FALSE(dtype_from_gguf_id(id));
}

// Figures of the GGUF specification.
TEST(DType, RowBytes) {
  EXPECT_EQ(row_bytes(DType::kF32, 3), 12u);
  EXPECT_EQ(row_bytes(DType::kBF16, 3), 6u);
  EXPECT_EQ(row_bytes(DType::kQ8_0, 64), 68u);
  EXPECT_EQ(row_bytes(DType::kQ4_1, 576), 360u);
  EXPECT_EQ(row_bytes(DType::kQ4_K, 2048), 1152u);
  EXPECT_EQ(row_bytes(DType::kQ6_K, 256), 210u);
  EXPECT_EQ(row_bytes(DType::kMXFP4, 32), 17u);
  EXPECT_EQ(row_bytes(DType::kQ4_0, int64_t{1} << 40), (size_t{1} << 35) * 18);
}

}  // namespace
}  // namespace toccata
