#include "sim/kv_memory.h"

#include <gtest/gtest.h>

namespace toccata::sim {
namespace {

KvPolicy rule(const char* name, int64_t budget) {
  KvPolicy r;
  r.name = name;
  r.budget = name == std::string("full") ? 0 : budget;
  return r;
}

// Two layers, one head of 64 channels. f16: 2 (K, V) x 64 x 2 bytes per token and layer, so a block has 2 x 32 x 256 =
// 16384 bytes. q8_0: 64 codes and 2 scales of 2 bytes, 2 x 32 x 2 x 68 = 8704. q4_0: 32 bytes of codes and 2 scales,
// 2 x 32 x 2 x 36 = 4608.
KvCurve curve(const char* name, DType type, int64_t tokens, int64_t points) {
  kv::Layout layout{2, 1, 64, type, type};
  Result<KvCurve> c = kv_memory(rule(name, 96), "t", layout, {}, tokens, points);
  EXPECT_TRUE(c) << (c ? "" : c.error().message);
  return *c;
}

void expect_points(const KvCurve& c, const std::vector<KvPoint>& expected) {
  ASSERT_EQ(c.points.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const KvPoint &a = c.points[i], &b = expected[i];
    EXPECT_EQ(a.tokens, b.tokens) << c.policy << " point " << i;
    EXPECT_EQ(a.kept, b.kept) << c.policy << " point " << i;
    EXPECT_EQ(a.blocks, b.blocks) << c.policy << " point " << i;
    EXPECT_EQ(a.bytes, b.bytes) << c.policy << " point " << i;
  }
}

TEST(KvMemory, FullGrowsByBlocks) {
  expect_points(
      curve("full", DType::kF16, 160, 5),
      {{32, 32, 1, 16384}, {64, 64, 2, 32768}, {96, 96, 3, 49152}, {128, 128, 4, 65536}, {160, 160, 5, 81920}});
  expect_points(curve("full", DType::kQ8_0, 33, 1), {{33, 33, 2, 2 * 8704}});
  expect_points(curve("full", DType::kQ4_0, 33, 1), {{33, 33, 2, 2 * 4608}});
}

// 4 sinks in a block of their own, 92 latest tokens and an interval of 32 in a ring of ceil(123 / 32) = 4 blocks.
TEST(KvMemory, StreamingEndsAtItsRing) {
  expect_points(
      curve("streaming", DType::kF16, 320, 5),
      {{64, 64, 2, 32768}, {128, 96, 4, 65536}, {192, 96, 5, 81920}, {256, 96, 5, 81920}, {320, 96, 5, 81920}});
}

// 95 kept tokens in 3 blocks and a piece in 1; between evictions at multiples of 32 the piece's tokens are kept, too.
// Memory of ranks: (3 + 1 + 1) x 32 = 160 slots, rounded up to 192, for 2 layers 4 bytes of attention and of position.
TEST(KvMemory, RankKeepsAFirstPartAndAPiece) {
  constexpr uint64_t kState = 192 * 2 * 8;
  for (const char* name : {"h2o", "snapkv"}) {
    expect_points(curve(name, DType::kF16, 240, 5), {{48, 48, 2, 32768 + kState},
                                                     {96, 96, 3, 49152 + kState},
                                                     {144, 95 + 16, 4, 65536 + kState},
                                                     {192, 95 + 32, 4, 65536 + kState},
                                                     {240, 95 + 16, 4, 65536 + kState}});
  }
}

TEST(KvMemory, TextShowsHeightsOnOneScale) {
  const std::vector<KvCurve> curves = {curve("full", DType::kF16, 256, 8), curve("streaming", DType::kF16, 256, 8)};
  const std::string text = kv_memory_text(curves);
  EXPECT_NE(text.find("full      t     |▁▂▃▄▅▆▇█| 0.12 MiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("streaming t     |▁▂▃▄▅▅▅▅| 0.08 MiB\n"), std::string::npos) << text;
}

TEST(KvMemory, SvgHasACurveOfEach) {
  const std::vector<KvCurve> curves = {curve("full", DType::kF16, 64, 2), curve("h2o", DType::kF16, 64, 2)};
  const std::string svg = kv_memory_svg(curves);
  // The last point of h2o is the highest: 32768 + 3072 bytes; that of full stands at 32768 / 35840 of the height.
  EXPECT_NE(svg.find("470.0,215.4 870.0,50.9 \""), std::string::npos) << svg;
  EXPECT_NE(svg.find("870.0,20.0 \""), std::string::npos) << svg;
}

TEST(KvMemory, RefusesNumbersThatDoNotFit) {
  KvPolicy r = rule("streaming", 4);
  EXPECT_FALSE(kv_memory(r, "f16", {2, 1, 64, DType::kF16, DType::kF16}, {}, 100, 10));
}

}  // namespace
}  // namespace toccata::sim
