#include "kv/pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <set>

#include "kv/cache_types.h"

namespace toccata::kv {
namespace {

TEST(KvPool, LaysOutHeadsAsContiguousRuns) {
  const Layout layout{3, 2, 64, DType::kF16, DType::kF32};
  EXPECT_EQ(layout.k_bytes(), 64u * 32 * 2);
  EXPECT_EQ(layout.v_bytes(), 64u * 32 * 4);
  EXPECT_EQ(layout.block_bytes(), 2 * layout.head_bytes());
  EXPECT_EQ(layout.bytes_per_token(), 3u * 2 * 64 * 6);
  // A quantised element is a byte or a nibble and its share of a scale; groups of 32 channels.
  const Layout narrow{3, 2, 64, DType::kQ8_0, DType::kQ4_0};
  EXPECT_EQ(narrow.bytes_per_token(), 3u * 2 * (64 + 2 * 2 + 32 + 2 * 2));
  EXPECT_EQ((Layout{1, 1, 80, DType::kQ4_0, DType::kQ8_0}).bytes_per_token(), 40u + 2 * 3 + 80 + 2 * 3);
  const Layout mixed{3, 2, 64, DType::kQ8_0, DType::kQ4_0, {0, 2}};
  EXPECT_EQ(mixed.bytes_per_token(), 2u * (64 + 2 * 2 + 32 + 2 * 2) + 2 * (2u * 64 * 4));
  Result<Pool> layers = Pool::create(mixed, 3);
  ASSERT_TRUE(layers.has_value());
  EXPECT_EQ(layers->layout(0).k_type, DType::kF16);
  EXPECT_EQ(layers->layout(1).k_type, DType::kQ8_0);
  EXPECT_EQ(layers->layout(2).v_type, DType::kF16);
  EXPECT_EQ(layers->head(1, 0, 1) - layers->head(1, 0, 0), 32 * (64 + 2 * 2 + 32 + 2 * 2));
  EXPECT_EQ(layers->head(2, 0, 1) - layers->head(2, 0, 0), 32 * 64 * 4);
  const BlockId from = *layers->allocate(), to = *layers->allocate();
  for (int l = 0; l < 3; ++l) std::memset(layers->head(l, from, 0), 7 + l, layers->layout(l).block_bytes());
  layers->copy(from, to);
  for (int l = 0; l < 3; ++l) {
    const size_t size = layers->layout(l).block_bytes();
    EXPECT_EQ(0, std::memcmp(layers->head(l, to, 0), layers->head(l, from, 0), size)) << l;
    EXPECT_NE(*layers->head(l, 2, 0), std::byte(7 + l)) << "beyond the block";
  }
  for (int dim = 8; dim <= 512; dim += 8) {
    for (const CacheType& t : kCacheTypes) {
      EXPECT_EQ((Layout{1, 1, dim, t.type, t.type}).k_bytes() % 64, 0u) << dim;
      EXPECT_EQ((Layout{1, 1, dim, t.type, t.type}).v_bytes() % 64, 0u) << dim;
    }
  }
  Result<Pool> pool = Pool::create(layout, 5);
  ASSERT_TRUE(pool.has_value());
  EXPECT_EQ(pool->head(1, 2, 1) - pool->head(1, 2, 0), static_cast<ptrdiff_t>(layout.head_bytes()));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(pool->head(2, 4, 1)) % 64, 0u);
}

TEST(KvPool, EveryBlockLiesTogetherAndApartFromOthers) {
  for (const Layout& layout :
       {Layout{3, 2, 64, DType::kF16, DType::kF32}, Layout{30, 3, 64, DType::kF16, DType::kF16},
        Layout{16, 8, 64, DType::kF16, DType::kF16}, Layout{24, 2, 64, DType::kQ8_0, DType::kQ4_0, {0, 5}}}) {
    const size_t stride = layout.pool_block_bytes(), data = layout.bytes_per_token() * 32;
    EXPECT_GE(stride, data);
    EXPECT_LE(stride, data + std::max<size_t>(64, data / 32));
    EXPECT_TRUE(data < 262144 || stride / 4096 % 2 == 1) << stride;
    Result<Pool> pool = Pool::create(layout, 3);
    ASSERT_TRUE(pool.has_value());
    std::byte* begin = pool->head(0, 0, 0);
    for (BlockId block = 0; block < 3; ++block) {
      std::byte* next = begin + static_cast<size_t>(block) * stride;  // of what the heads before leave free
      for (int layer = 0; layer < layout.layers; ++layer) {
        for (int head = 0; head < layout.kv_heads; ++head) {
          ASSERT_EQ(pool->head(layer, block, head), next) << layer << " " << block << " " << head;
          next += pool->layout(layer).head_bytes();
        }
      }
    }
  }
}

TEST(KvPool, HandsOutEachBlockOnce) {
  Result<Pool> pool = Pool::create({1, 1, 8, DType::kF16, DType::kF16}, 4);
  ASSERT_TRUE(pool.has_value());
  std::set<BlockId> blocks;
  for (int i = 0; i < 4; ++i) blocks.insert(*pool->allocate());
  EXPECT_EQ(blocks, (std::set<BlockId>{0, 1, 2, 3}));
  EXPECT_EQ(pool->free_blocks(), 0);
  const Result<BlockId> none = pool->allocate();
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::kResourceExhausted);
  pool->release(2);
  EXPECT_EQ(pool->free_blocks(), 1);
  EXPECT_EQ(*pool->allocate(), 2);
}

TEST(KvPool, AbortsOnADoubleRelease) {
  Result<Pool> pool = Pool::create({1, 1, 8, DType::kF16, DType::kF16}, 2);
  ASSERT_TRUE(pool.has_value());
  const BlockId block = *pool->allocate();
  pool->release(block);
  EXPECT_DEATH(pool->release(block), "");
  EXPECT_DEATH(pool->release(7), "");
  EXPECT_DEATH(pool->release(-1), "");
}

TEST(KvPool, RefusesWhatItCannotHold) {
  const auto code = [](const Layout& layout, int64_t blocks) {
    const Result<Pool> pool = Pool::create(layout, blocks);
    return pool ? std::string() : pool.error().message;
  };
  const Layout good{2, 2, 64, DType::kF16, DType::kF16};
  EXPECT_EQ(code(good, 1), "");
  EXPECT_NE(code(good, 0), "");
  EXPECT_NE(code(good, int64_t{1} << 31), "");
  EXPECT_EQ(code({2, 2, 64, DType::kQ8_0, DType::kQ4_0}, 1), "");
  const std::string refusal = code({2, 2, 64, DType::kQ5_0, DType::kF16}, 1);
  EXPECT_NE(refusal.find("Q5_0"), std::string::npos);
  EXPECT_NE(refusal.find("q8_0"), std::string::npos) << refusal;  // what to use instead
  EXPECT_NE(code({2, 2, 64, DType::kQ8_0, DType::kQ8_0, {2}}, 1), "");
  EXPECT_NE(code({2, 2, 64, DType::kQ8_0, DType::kQ8_0, {1, 0}}, 1), "");
  EXPECT_NE(code({2, 2, 60, DType::kF16, DType::kF16}, 1).find("60"), std::string::npos);
  EXPECT_NE(code({2, 2, 520, DType::kF16, DType::kF16}, 1), "");
  EXPECT_NE(code({2, 0, 64, DType::kF16, DType::kF16}, 1), "");
  EXPECT_NE(code({0, 2, 64, DType::kF16, DType::kF16}, 1), "");
  const Result<Pool> huge = Pool::create({1, 32768, 512, DType::kF32, DType::kF32}, 2147483647);
  ASSERT_FALSE(huge.has_value());
  EXPECT_EQ(huge.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(code({65536, 65536, 512, DType::kF32, DType::kF32}, 2147483647), "");  // beyond 64 bits
}

}  // namespace
}  // namespace toccata::kv
