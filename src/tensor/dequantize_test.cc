#include "tensor/dequantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

namespace toccata {
namespace {

struct Case {
  uint32_t gguf_id = 0;
  std::vector<std::byte> blocks;
  std::vector<uint32_t> expected;  // bits of the f32 values
};

// See scripts/make_dequant_cases.py for the format.
std::vector<Case> read_cases() {
  std::ifstream file(TOCCATA_SOURCE_DIR "/src/tensor/testdata/dequant_cases.bin", std::ios::binary);
  std::vector<Case> cases;
  uint32_t head[3];
  while (file.read(reinterpret_cast<char*>(head), sizeof(head))) {
    Case c{head[0], std::vector<std::byte>(head[2]), std::vector<uint32_t>(head[1])};
    file.read(reinterpret_cast<char*>(c.blocks.data()), head[2]);
    file.read(reinterpret_cast<char*>(c.expected.data()), static_cast<std::streamsize>(4 * c.expected.size()));
    EXPECT_TRUE(file);
    cases.push_back(std::move(c));
  }
  return cases;
}

TEST(Dequantize, EveryTypeEqualsTheOracleBitForBit) {
  const auto cases = read_cases();
  ASSERT_EQ(cases.size(), static_cast<size_t>(kDTypeCount));
  std::vector<bool> seen(kDTypeCount);
  for (const Case& c : cases) {
    const auto type = dtype_from_gguf_id(c.gguf_id);
    ASSERT_TRUE(type) << c.gguf_id;
    seen[static_cast<size_t>(*type)] = true;
    const auto cols = static_cast<int64_t>(c.expected.size());
    SCOPED_TRACE(dtype_info(*type).name);
    ASSERT_EQ(row_bytes(*type, cols), c.blocks.size());
    std::vector<float> y(c.expected.size());
    dequantize_row(*type, c.blocks.data(), cols, y.data());
    for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), c.expected[i]) << "element " << i;
  }
  for (int t = 0; t < kDTypeCount; ++t) EXPECT_TRUE(seen[static_cast<size_t>(t)]) << t;
}

TEST(Dequantize, SourceNeedsNoAlignment) {
  for (const Case& c : read_cases()) {
    const DType type = *dtype_from_gguf_id(c.gguf_id);
    std::vector<std::byte> shifted(c.blocks.size() + 1);
    std::memcpy(shifted.data() + 1, c.blocks.data(), c.blocks.size());
    std::vector<float> y(c.expected.size());
    dequantize_row(type, shifted.data() + 1, static_cast<int64_t>(y.size()), y.data());
    EXPECT_EQ(std::memcmp(y.data(), c.expected.data(), 4 * y.size()), 0) << dtype_info(type).name;
  }
}

TEST(Dequantize, EmptyRowTouchesNothing) {
  for (int t = 0; t < kDTypeCount; ++t) dequantize_row(static_cast<DType>(t), nullptr, 0, nullptr);
}

TEST(DequantizeDeathTest, PartOfABlockIsOurOwnBug) {
  std::byte block[34] = {};
  float y[32];
  EXPECT_DEATH(dequantize_row(DType::kQ8_0, block, 31, y), "dequantize.cc");
}

}  // namespace
}  // namespace toccata
