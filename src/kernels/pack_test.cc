#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/matmul_testing.h"
#include "tensor/dequantize.h"

namespace toccata::kernels {
namespace {

using testing::Fill;

class Pack : public ::testing::TestWithParam<int> {
 protected:
  DType type() const { return static_cast<DType>(GetParam()); }
  int64_t unit() const { return dtype_info(type()).block_elems; }
};

TEST_P(Pack, UnpackRowEqualsDequantizeRow) {
  std::mt19937 rng(1);
  for (const int64_t rows : {1, 15, 16, 17, 40}) {
    for (const int64_t blocks : {1, 2, 3, 7}) {
      const int64_t cols = unit() == 1 ? 5 * blocks : blocks * unit();
      const auto gguf = testing::make_rows(type(), rows, cols, Fill::kRandom, rng);
      const testing::Packed packed(type(), rows, cols, gguf);
      std::vector<float> got(static_cast<size_t>(cols)), want(got.size());
      for (int64_t r = 0; r < rows; ++r) {
        dequantize_row(type(), gguf.data() + static_cast<size_t>(r) * row_bytes(type(), cols), cols, want.data());
        unpack_row(packed.matrix(), r, got.data());
        for (size_t k = 0; k < got.size(); ++k) {
          ASSERT_EQ(std::bit_cast<uint32_t>(got[k]), std::bit_cast<uint32_t>(want[k]))
              << "row " << r << " of " << rows << ", element " << k << " of " << cols;
        }
      }
    }
  }
}

TEST_P(Pack, MissingRowsAreZeros) {
  std::mt19937 rng(2);
  const int64_t cols = 256;
  const auto gguf = testing::make_rows(type(), 3, cols, Fill::kRandom, rng);
  testing::Packed packed(type(), 3, cols, gguf);
  PackedMatrix padded = packed.matrix();
  padded.rows = kGroupRows;
  std::vector<float> y(static_cast<size_t>(cols));
  for (int64_t r = 3; r < kGroupRows; ++r) {
    unpack_row(padded, r, y.data());
    for (const float v : y) ASSERT_EQ(v, 0.0f);
  }
}

// Extra bytes: sub-block scales of 6 bits as bytes (Q3_K, Q4_K, Q5_K, IQ4_XS), 8-bit exponents as 16 (MXFP4).
TEST_P(Pack, SizeIsAlignedAndNearTheFile) {
  const int64_t cols = 4096;
  const size_t group = packed_group_bytes(type(), cols), file = kGroupRows * row_bytes(type(), cols);
  EXPECT_EQ(group % 64, 0u);
  EXPECT_GE(group, file);
  EXPECT_LE(static_cast<double>(group), 1.06 * static_cast<double>(file));
}

// Every byte of the group is written: the padding behind the last block as well.
TEST_P(Pack, WritesTheWholeGroupAndNothingElse) {
  std::mt19937 rng(3);
  const int64_t cols = unit() == 1 ? 3 : unit();
  const auto gguf = testing::make_rows(type(), kGroupRows, cols, Fill::kRandom, rng);
  const size_t bytes = packed_group_bytes(type(), cols);
  std::vector<std::byte> a(bytes + 64, std::byte{0}), b(bytes + 64, std::byte{255});
  pack_group(type(), gguf.data(), cols, kGroupRows, a.data());
  pack_group(type(), gguf.data(), cols, kGroupRows, b.data());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), bytes), 0);
  for (size_t i = bytes; i < bytes + 64; ++i) ASSERT_TRUE(a[i] == std::byte{0} && b[i] == std::byte{255}) << i;
}

INSTANTIATE_TEST_SUITE_P(AllTypes, Pack, ::testing::Range(0, kDTypeCount),
                         [](const auto& i) { return std::string(dtype_info(static_cast<DType>(i.param)).name); });

}  // namespace
}  // namespace toccata::kernels
