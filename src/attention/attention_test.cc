#include "attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <span>
#include <string>

#include "attention/testing.h"
#include "base/testing.h"

namespace toccata::attention {
namespace {

using testing::Chunk;
using testing::Shape;
using testing::World;

const kernels::KernelSet& fastest() { return kernels::available_kernels().back(); }
const kernels::KernelSet& generic() { return kernels::available_kernels().front(); }
std::span<const kernels::KernelSet> faster() { return std::span(kernels::available_kernels()).subspan(1); }

std::vector<float> run(const Shape& shape, const kernels::KernelSet& set, Method method, int threads, int chunk,
                       int64_t length) {
  World world(shape, set, method, threads, 1, length);
  world.feed(0, chunk);
  return world.out(0);
}

void expect_same(const std::vector<float>& got, const std::vector<float>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want[i])) << what << " at " << i;
  }
}

void expect_oracle(const Shape& shape, const std::vector<float>& out, int64_t length) {
  for (int64_t pos : {int64_t{0}, int64_t{1}, length / 2, length - 1}) {
    for (int head = 0; head < shape.heads; ++head) {
      const std::vector<double> want = testing::oracle(shape, 0, pos, head);
      for (int d = 0; d < shape.head_dim; ++d) {
        // Values are below 4; scores have a spread of several units, so a rounding of 1e-6 of them shows.
        ASSERT_NEAR(out[static_cast<size_t>((pos * shape.heads + head) * shape.head_dim + d)],
                    want[static_cast<size_t>(d)], 2e-5)
            << "position " << pos << " head " << head << " channel " << d;
      }
    }
  }
}

struct NamedShape {
  std::string name;
  Shape shape;
};

std::vector<NamedShape> shapes() {
  const DType f16 = DType::kF16, bf16 = DType::kBF16, f32 = DType::kF32, q8 = DType::kQ8_0, q4 = DType::kQ4_0;
  return {{"mha_64", {2, 2, 64, f16, f16, 0, 0.125f}},
          {"gqa3_64", {6, 2, 64, f16, f16, 0, 0.125f}},
          {"gqa7_64_bf16", {14, 2, 64, bf16, bf16, 0, 0.125f}},
          {"gqa4_256_window", {4, 1, 256, f16, f16, 100, 0.0625f}},
          {"gqa8_80_f32", {8, 1, 80, f32, f32, 0, 0.11f}},
          {"mixed_24_window_1", {3, 1, 24, f32, bf16, 1, 0.2f}},
          {"mixed_8_window_64", {2, 1, 8, bf16, f16, 64, 0.3f}},
          {"wide_group_16", {200, 2, 16, f16, f32, 37, 0.25f}},
          {"dim_112", {5, 5, 112, f16, f16, 600, 0.09f}},
          {"gqa3_64_q8", {6, 2, 64, q8, q8, 0, 0.125f}},
          {"gqa7_64_q8_q4", {14, 2, 64, q8, q4, 0, 0.125f}},
          {"gqa4_256_window_q4_q8", {4, 1, 256, q4, q8, 100, 0.0625f}},
          {"mha_80_q4", {2, 2, 80, q4, q4, 0, 0.11f}},
          {"mixed_24_q4_f16", {3, 1, 24, q4, f16, 70, 0.2f}},
          {"mixed_16_f32_q8", {5, 1, 16, f32, q8, 0, 0.25f}},
          {"mixed_8_q8_bf16", {2, 1, 8, q8, bf16, 64, 0.3f}},
          {"gqa7_40_q4_q8", {7, 1, 40, q4, q8, 37, 0.2f}}};
}

class AttentionShapes : public ::testing::TestWithParam<NamedShape> {};
INSTANTIATE_TEST_SUITE_P(All, AttentionShapes, ::testing::ValuesIn(shapes()),
                         [](const auto& p) { return p.param.name; });

// One instruction set will do for the oracle: the others have its bits.
TEST_P(AttentionShapes, FlashMatchesTheOracle) {
  const Shape& shape = GetParam().shape;
  expect_oracle(shape, run(shape, fastest(), Method::kFlash, 2, 97, 560), 560);
}

TEST_P(AttentionShapes, NaiveMatchesTheOracleForEveryChunking) {
  const Shape& shape = GetParam().shape;
  const std::vector<float> whole = run(shape, generic(), Method::kNaive, 1, 250, 250);
  expect_oracle(shape, whole, 250);
  expect_same(run(shape, generic(), Method::kNaive, 2, 33, 250), whole, "generic");
  for (const kernels::KernelSet& set : faster()) {
    for (int chunk : {1, 33, 250}) {
      expect_same(run(shape, set, Method::kNaive, 2, chunk, 250), whole, std::string(set.isa));
    }
  }
}

TEST_P(AttentionShapes, InstructionSetsAgreeBitForBit) {
  const Shape& shape = GetParam().shape;
  const std::vector<float> want = run(shape, generic(), Method::kFlash, 2, 330, 600);
  for (const kernels::KernelSet& set : faster()) {
    expect_same(run(shape, set, Method::kFlash, 2, 330, 600), want, std::string(set.isa));
  }
}

TEST_P(AttentionShapes, ChunksAndThreadsDoNotChangeABit) {
  const Shape& shape = GetParam().shape;
  const int64_t length = 1300;
  const std::vector<float> whole = run(shape, fastest(), Method::kFlash, 1, 1300, length);
  for (int chunk : test::cases({1, 7, 64, 512, 1300}, {7, 512})) {
    for (int threads : test::cases({1, 2, 5}, {2})) {
      // Barriers of more threads than CPUs are slow. Of one thread a small and a large chunk will do.
      if (threads == 5 ? chunk != 64 && chunk != length : threads == 1 && chunk != 7 && chunk != 512) continue;
      expect_same(run(shape, fastest(), Method::kFlash, threads, chunk, length), whole,
                  "chunk " + std::to_string(chunk) + ", threads " + std::to_string(threads));
    }
  }
}

TEST_P(AttentionShapes, NeighboursInTheBatchDoNotChangeABit) {
  const Shape& shape = GetParam().shape;
  const int64_t length = 700;
  for (Method method : {Method::kFlash, Method::kNaive}) {
    World world(shape, fastest(), method, 2, 3, length);
    const int sizes[] = {1, 30, 5, 1, 64, 200, 1, 2};
    for (size_t i = 0; world.position(0) < length || world.position(1) < length || world.position(2) < length; ++i) {
      std::vector<Chunk> chunks;
      for (int s : {2, 0, 1}) {
        const int64_t size = sizes[(i + static_cast<size_t>(3 * s)) % 8];
        chunks.push_back({s, static_cast<int>(std::min(size, length - world.position(s)))});  // may be empty
      }
      world.step(chunks);
    }
    for (int s = 0; s < 3; ++s) {
      World alone(shape, fastest(), method, 1, 3, length);
      alone.feed(s, 128);
      expect_same(world.out(s), alone.out(s), "sequence " + std::to_string(s));
    }
  }
}

TEST(Attention, FlashAndNaiveAgree) {
  const Shape shape{6, 2, 64, DType::kF16, DType::kF16, 0, 0.125f};
  const std::vector<float> flash = run(shape, fastest(), Method::kFlash, 2, 512, 1500);
  const std::vector<float> naive = run(shape, fastest(), Method::kNaive, 2, 512, 1500);
  for (size_t i = 0; i < flash.size(); ++i) ASSERT_NEAR(flash[i], naive[i], 2e-5) << i;
}

// Several waves: 4,200 keys are 9 splits, times 4 KV heads of tiles with 96 rows; the slots hold 8 such units for two
// threads, so an item goes on in the next wave.
TEST(Attention, WavesCarryTheirStates) {
  const Shape shape{12, 4, 8, DType::kF16, DType::kF16, 0, 0.3f};
  const auto end_of = [&](int threads, int last) {
    World world(shape, fastest(), Method::kFlash, threads, 1, 4200);
    for (int left = 4200 - last; left > 0; left -= 1000) world.step({{0, std::min(left, 1000)}});
    world.step({{0, last}});
    return world.out(0);
  };
  const std::vector<float> want = end_of(1, 32);
  expect_same(end_of(5, 32), want, "five threads");
  expect_same(end_of(2, 1), want, "one row");
  expect_same(end_of(3, 100), want, "a hundred rows");
}

TEST(Attention, FlashScratchDoesNotDependOnTheLength) {
  const Shape shape{6, 2, 64, DType::kF16, DType::kF16, 0, 0.125f};
  World world(shape, fastest(), Method::kFlash, 2, 1, 1500);
  const size_t before = world.attention().scratch_bytes();
  world.feed(0, 512);
  EXPECT_EQ(world.attention().scratch_bytes(), before);
  EXPECT_GT(before, 0u);
  World naive(shape, fastest(), Method::kNaive, 2, 1, 1500);
  naive.feed(0, 512);
  EXPECT_GE(naive.attention().scratch_bytes(), 512u * 1500u * sizeof(float));
}

// A window may let go of blocks that no row sees any more.
TEST(Attention, BlocksBeforeTheWindowAreNotTouched) {
  const Shape shape{2, 1, 64, DType::kF16, DType::kF16, 40, 0.125f};
  for (Method method : {Method::kFlash, Method::kNaive}) {
    World kept(shape, fastest(), method, 2, 1, 700), dropped(shape, fastest(), method, 2, 1, 700);
    kept.step({{0, 690}});
    dropped.step({{0, 690}});
    dropped.drop_blocks(0, (690 - 40 + 1) / kernels::kKvBlock);
    kept.step({{0, 10}});
    dropped.step({{0, 10}});
    expect_same(dropped.out(0), kept.out(0), "dropped");
  }
}

}  // namespace
}  // namespace toccata::attention
