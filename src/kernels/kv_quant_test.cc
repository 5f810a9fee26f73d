// The quantised cache types: what is stored, where, and how far it is from what was given.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "kernels/generic/kv_quant.h"
#include "kernels/vec_testing.h"

namespace toccata::kernels {
namespace {

using testing::TestedSet;

constexpr DType kQuantised[] = {DType::kQ8_0, DType::kQ4_0};
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

size_t bytes(DType type, bool value, int dim) {
  return static_cast<size_t>(value ? kv_v_bytes(type, dim) : kv_k_bytes(type, dim));
}

// A block filled with `fill`, then the rows stored from `slot` on.
std::vector<std::byte> stored(const AttnKernels& kernels, DType type, bool value, const std::vector<float>& rows,
                              size_t stride, int dim, int slot, int tokens, std::byte fill = std::byte{0x5a}) {
  std::vector<std::byte> block(bytes(type, value, dim), fill);
  (value ? kernels.store_v : kernels.store_k)(type, rows.data(), stride, dim, slot, tokens, block.data());
  return block;
}

float loaded(DType type, bool value, const std::vector<std::byte>& block, int dim, int t, int d) {
  return value ? generic::load_v(type, block.data(), dim, t, d) : generic::load_k(type, block.data(), dim, t, d);
}

// Rows whose groups are of very different sizes, some empty, some with values that overflow or vanish.
std::vector<float> difficult_rows(std::mt19937& rng, size_t count) {
  std::normal_distribution<float> normal(0.0f, 1.0f);
  const float special[] = {0.0f, -0.0f, 1e-30f, -1e-8f, 3e-6f, 65504.0f, -8.5e6f, 3.4e38f, -3.4e38f, 0.5f, -0.5f};
  std::vector<float> rows(count);
  float size = 1.0f;
  for (size_t i = 0; i < count; ++i) {
    if (i % 8 == 0) size = std::exp2(static_cast<float>(static_cast<int>(rng() % 60) - 40));
    rows[i] = rng() % 7 == 0 ? special[rng() % 11] : normal(rng) * size;
    if (rng() % 400 == 0) rows[i] = rng() % 2 ? kNaN : -kInf;
    if (rng() % 9 == 0 && i > 0) rows[i] = -rows[i - 1];  // ties of size
  }
  return rows;
}

TEST(KvQuant, InstructionSetsStoreTheSameBytes) {
  std::mt19937 rng(1);
  for (int dim : {8, 16, 24, 32, 40, 64, 80, 112, 128, 256, 512}) {
    const size_t stride = static_cast<size_t>(dim) + 3;
    for (int i = 0; i < 12; ++i) {
      const std::vector<float> rows = difficult_rows(rng, 32 * stride);
      const int slot = static_cast<int>(rng() % 32),
                tokens = 1 + static_cast<int>(rng() % static_cast<unsigned>(32 - slot));
      for (DType type : kQuantised) {
        for (bool value : {false, true}) {
          const auto want = stored(*available_kernels().front().attn, type, value, rows, stride, dim, slot, tokens);
          for (const TestedSet& set : testing::tested_sets()) {
            ASSERT_EQ(stored(*set.attn, type, value, rows, stride, dim, slot, tokens), want)
                << set.name << " " << dtype_info(type).name << " dim " << dim;
          }
        }
      }
    }
  }
}

TEST(KvQuant, ValuesAreWithinHalfAStep) {
  std::mt19937 rng(2);
  std::normal_distribution<float> normal(0.0f, 3.0f);
  const int dim = 80;
  std::vector<float> rows(32 * 80);
  for (float& x : rows) x = normal(rng);
  for (DType type : kQuantised) {
    for (bool value : {false, true}) {
      const auto block = stored(*available_kernels().back().attn, type, value, rows, 80, dim, 0, 32);
      for (int t = 0; t < 32; ++t) {
        for (int d = 0; d < dim; ++d) {
          const int begin = d / 32 * 32, end = std::min(dim, begin + 32);
          const float* x = rows.data() + t * dim;
          float largest = 0.0f;
          for (int i = begin; i < end; ++i) largest = std::max(largest, std::fabs(x[i]));
          // Half a step and the rounding of the scale. q4_0 reaches only 7/8 of the size on the other side.
          const float step = type == DType::kQ8_0 ? largest / 127 : largest / 8;
          const float most = std::fabs(x[d]) > 7.4f * step && type == DType::kQ4_0 ? step : 0.505f * step;
          ASSERT_LE(std::fabs(loaded(type, value, block, dim, t, d) - x[d]), most + largest * 6e-4f) << t << " " << d;
        }
      }
    }
  }
}

// The layout in words: scales [groups][32] or [32][groups], then codes; the rest of the block stays as it was.
TEST(KvQuant, LiesWhereTheLayoutSays) {
  const int dim = 40, t = 19;
  std::vector<float> row(40);
  for (int d = 0; d < dim; ++d) row[static_cast<size_t>(d)] = static_cast<float>(d % 32 == 5 ? -127 : d - 20);
  const auto k8 = stored(*available_kernels().back().attn, DType::kQ8_0, false, row, 40, dim, t, 1);
  const auto v8 = stored(*available_kernels().back().attn, DType::kQ8_0, true, row, 40, dim, t, 1);
  ASSERT_EQ(k8.size(), 2u * 2 * 32 + 40 * 32);
  ASSERT_EQ(v8.size(), 2u * 2 * 32 + 40 * 32);
  size_t touched = 0;
  for (std::byte b : k8) touched += b != std::byte{0x5a};
  EXPECT_EQ(touched, 44u);
  for (int d = 0; d < dim; ++d) {
    const int8_t code = static_cast<int8_t>(row[static_cast<size_t>(d)]);
    EXPECT_EQ(static_cast<int8_t>(k8[static_cast<size_t>(128 + d * 32 + t)]), code);
    EXPECT_EQ(static_cast<int8_t>(v8[static_cast<size_t>(128 + t * 40 + d)]), code);
  }
  uint16_t scale;
  for (size_t at : {size_t{2 * t}, size_t{2 * (32 + t)}}) {
    std::memcpy(&scale, &k8[at], 2);
    EXPECT_EQ(scale, 0x3c00);  // 1
  }
  for (float& x : row) x = x < -100 ? -8.0f : std::fmod(x, 8.0f);
  const auto k4 = stored(*available_kernels().back().attn, DType::kQ4_0, false, row, 40, dim, t, 1);
  const auto v4 = stored(*available_kernels().back().attn, DType::kQ4_0, true, row, 40, dim, t, 1);
  ASSERT_EQ(k4.size(), 2u * 2 * 32 + 40 * 16);
  ASSERT_EQ(v4.size(), 2u * 2 * 32 + 2 * 16 * 32);
  for (int d = 0; d < dim; ++d) {
    const unsigned nibble = static_cast<unsigned>(row[static_cast<size_t>(d)] + 8);
    EXPECT_EQ(std::to_integer<unsigned>(k4[static_cast<size_t>(128 + d * 16 + t - 16)]), nibble << 4 | 0xa) << d;
    const unsigned both = std::to_integer<unsigned>(v4[static_cast<size_t>(128 + t * 32 + d / 32 * 16 + d % 16)]);
    EXPECT_EQ(d % 32 < 16 ? both & 15 : both >> 4, nibble) << d;
  }
}

TEST(KvQuant, ExtremesOfARange) {
  for (DType type : kQuantised) {
    const auto value = [&](float x, float other) {
      std::vector<float> row(32, other);
      row[3] = x;
      const auto block = stored(*available_kernels().back().attn, type, true, row, 32, 32, 0, 1);
      return loaded(type, true, block, 32, 0, 3);
    };
    EXPECT_EQ(value(0.0f, 0.0f), 0.0f);
    EXPECT_EQ(value(2.0f, 0.0f), 2.0f * (type == DType::kQ8_0 ? 127 * f16_to_f32(f32_to_f16(2.0f / 127)) / 2.0f : 1));
    EXPECT_EQ(std::signbit(value(-2.0f, 1.0f)), true);
    EXPECT_NEAR(value(-2.0f, 2.0f), -2.0f, 0.26f);  // a tie: the positive one is exact
    EXPECT_TRUE(std::isfinite(value(3.4e38f, -3.4e38f)));
    EXPECT_TRUE(std::isnan(value(1.0f, kNaN)));
    EXPECT_TRUE(std::isnan(value(1.0f, kInf)));
    EXPECT_TRUE(std::isnan(value(-kInf, 1.0f)));
    EXPECT_EQ(value(1e-30f, 0.0f), 0.0f);
  }
}

// One token more or less, in any order: neighbours in the same bytes keep theirs.
TEST(KvQuant, SlotsDoNotDisturbEachOther) {
  std::mt19937 rng(4);
  std::normal_distribution<float> normal(0.0f, 1.0f);
  const size_t dim = 24;
  std::vector<float> rows(32 * dim);
  for (float& x : rows) x = normal(rng);
  for (const TestedSet& set : testing::tested_sets()) {
    for (DType type : kQuantised) {
      for (bool value : {false, true}) {
        const auto together = stored(*set.attn, type, value, rows, dim, 24, 0, 32);
        std::vector<std::byte> apart(together.size(), std::byte{0xff});
        for (int i = 0; i < 32; ++i) {
          const int t = i * 13 % 32;
          (value ? set.attn->store_v : set.attn->store_k)(type, rows.data() + static_cast<size_t>(t) * dim, dim, 24, t,
                                                          1, apart.data());
        }
        EXPECT_EQ(apart, together) << set.name;
      }
    }
  }
}

}  // namespace
}  // namespace toccata::kernels
