// Attention under an eviction policy: against the oracle, and the same bits for every way to cut the work.
#include "attention/pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string>

#include "attention/testing.h"

namespace toccata::attention {
namespace {

using testing::Chunk;
using testing::Shape;
using testing::World;

constexpr int64_t kLength = 700;

kv::CachePlan plan_of(const char* name, int64_t budget, int64_t sinks, int64_t interval, int64_t longest_window = 0) {
  KvPolicy rule;
  rule.name = name;
  rule.budget = budget;
  rule.sinks = sinks;
  rule.interval = interval;
  return *kv::make_plan(rule, {longest_window});
}

kv::CachePlan streaming(int64_t budget, int64_t sinks, int64_t interval, int64_t longest_window = 0) {
  return plan_of("streaming", budget, sinks, interval, longest_window);
}

struct NamedShape {
  std::string name;
  Shape shape;
};

std::vector<NamedShape> shapes() {
  const DType f16 = DType::kF16, bf16 = DType::kBF16, f32 = DType::kF32, q8 = DType::kQ8_0, q4 = DType::kQ4_0;
  return {{"gqa3", {6, 2, 64, f16, f16, 0, 0.125f, streaming(100, 4, 32)}},
          {"interval_1", {2, 2, 64, f32, f32, 0, 0.125f, streaming(65, 1, 1)}},
          {"no_sinks", {4, 1, 64, f16, bf16, 0, 0.125f, streaming(64, 0, 8)}},
          {"many_sinks", {3, 1, 24, f16, f16, 0, 0.2f, streaming(600, 540, 16)}},
          {"one_latest", {2, 1, 8, f32, f32, 0, 0.3f, streaming(34, 33, 5)}},
          {"long_interval", {4, 2, 16, f16, f16, 0, 0.25f, streaming(40, 4, 512)}},
          {"own_window", {4, 2, 16, f16, f16, 150, 0.25f, streaming(40, 4, 32, 150)}},
          {"gqa7_q8_q4", {7, 1, 40, q8, q4, 0, 0.1f, streaming(70, 4, 32)}},
          {"h2o_q8_q4", {4, 2, 40, q8, q4, 0, 0.02f, plan_of("h2o", 70, 4, 16)}},
          {"h2o_q4_q8", {2, 1, 64, q4, q8, 0, 0.02f, plan_of("h2o", 100, 0, 32)}},
          {"h2o_interval_1", {6, 2, 64, f32, f32, 0, 0.02f, plan_of("h2o", 65, 0, 1)}},
          {"h2o", {6, 2, 64, f16, f16, 0, 0.02f, plan_of("h2o", 100, 4, 32)}},
          {"h2o_long", {3, 1, 24, f16, bf16, 0, 0.05f, plan_of("h2o", 580, 0, 16)}},
          {"h2o_few", {2, 2, 8, f32, f32, 0, 0.1f, plan_of("h2o", 3, 1, 40)}},
          {"h2o_own_window", {4, 2, 16, f16, f16, 150, 0.25f, plan_of("h2o", 40, 4, 32, 150)}},
          {"snapkv", {4, 1, 32, f16, f16, 0, 0.05f, plan_of("snapkv", 90, 2, 32)}},
          {"snapkv_interval_5", {2, 1, 16, f32, f16, 0, 0.1f, plan_of("snapkv", 50, 0, 5)}}};
}

class PolicyShapes : public ::testing::TestWithParam<NamedShape> {};
INSTANTIATE_TEST_SUITE_P(All, PolicyShapes, ::testing::ValuesIn(shapes()), [](const auto& p) { return p.param.name; });

std::vector<float> run(const Shape& shape, const kernels::KernelSet& set, int threads, int chunk) {
  World world(shape, set, Method::kFlash, threads, 1, kLength);
  world.feed(0, chunk);
  return world.out(0);
}

void expect_same(const std::vector<float>& got, const std::vector<float>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want[i])) << what << " at " << i;
  }
}

TEST_P(PolicyShapes, MatchesTheOracle) {
  const Shape& shape = GetParam().shape;
  if (shape.plan.ranking && shape.window == 0) return;  // below
  const std::vector<float> out = run(shape, kernels::available_kernels().back(), 2, 97);
  for (int64_t pos = 0; pos < kLength; pos += pos % 40 == 0 ? 1 : 13) {
    for (int head = 0; head < shape.heads; ++head) {
      const std::vector<double> want = testing::oracle(shape, 0, pos, head);
      for (int d = 0; d < shape.head_dim; ++d) {
        ASSERT_NEAR(out[static_cast<size_t>((pos * shape.heads + head) * shape.head_dim + d)],
                    want[static_cast<size_t>(d)], 2e-5)
            << "position " << pos << " head " << head << " channel " << d;
      }
    }
  }
}

TEST_P(PolicyShapes, SameBitsForEveryChunkThreadCountAndKernel) {
  const Shape& shape = GetParam().shape;
  const std::vector<float> want = run(shape, kernels::available_kernels().back(), 1, 1);
  for (const kernels::KernelSet& set : kernels::available_kernels()) {
    const std::string isa(set.isa);
    for (int chunk : {7, 32, 64, 333, 700}) {
      for (int threads : {1, 3}) {
        if (&set == &kernels::available_kernels().front() && (chunk != 64 || threads == 1)) continue;
        expect_same(run(shape, set, threads, chunk), want,
                    isa + ", chunks of " + std::to_string(chunk) + ", threads " + std::to_string(threads));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// A policy by rank as its rule says it, in double precision: token by token, with sets instead of slots.
class RankOracle {
 public:
  explicit RankOracle(const Shape& shape) : s_(shape), scores_(static_cast<size_t>(shape.kv_heads)) {}

  // softmax(scale q K^T) V of the next token, [heads][head_dim].
  std::vector<double> next() {
    std::vector<double> out;
    const int group = s_.heads / s_.kv_heads;
    for (int kv = 0; kv < s_.kv_heads; ++kv) {
      std::map<int64_t, double>& held = scores_[static_cast<size_t>(kv)];
      if (at_ >= s_.plan.dense && at_ % s_.plan.interval == 0) evict(held);
      if (s_.plan.ranking->by_latest_queries() && at_ % s_.plan.interval == 0) {
        for (auto& [position, score] : held) score = 0;
      }
      held[at_] = 0;
      for (int h = 0; h < group; ++h) attend(held, kv, kv * group + h, out);
    }
    ++at_;
    return out;
  }

 private:
  void evict(std::map<int64_t, double>& held) const {
    std::vector<kv::Policy::Token> may_go;
    for (const auto& [position, score] : held) {
      if (position >= s_.plan.sinks && position < at_ - (s_.plan.recent - 1)) {
        may_go.push_back({static_cast<int32_t>(position), static_cast<float>(score), 0});
      }
    }
    s_.plan.ranking->weigh(may_go);
    std::sort(may_go.begin(), may_go.end(), [](const auto& a, const auto& b) {
      return a.weight < b.weight || (a.weight == b.weight && a.position < b.position);
    });
    for (const auto& token : may_go) {
      if (std::ssize(held) < s_.plan.budget) break;
      held.erase(token.position);
    }
  }

  void attend(std::map<int64_t, double>& held, int kv, int head, std::vector<double>& out) const {
    const int dim = s_.head_dim;
    const std::vector<float> own = testing::token_row(s_, 0, at_);
    std::vector<double> p, sum(static_cast<size_t>(dim), 0.0);
    double total = 0;
    std::vector<std::vector<float>> values;
    for (const auto& [position, score] : held) {
      const std::vector<float> row = testing::token_row(s_, 0, position);
      const std::vector<float> key = testing::cached(s_.k_type, false, row.data() + (s_.heads + kv) * dim, dim);
      values.push_back(testing::cached(s_.v_type, true, row.data() + (s_.heads + s_.kv_heads + kv) * dim, dim));
      double dot = 0;
      for (int d = 0; d < dim; ++d) {
        dot += static_cast<double>(own[static_cast<size_t>(head * dim + d)]) * key[static_cast<size_t>(d)];
      }
      p.push_back(std::exp(dot * s_.scale));
      total += p.back();
    }
    size_t i = 0;
    for (auto& [position, score] : held) {
      const double weight = p[i] / total;
      score += weight;
      for (int d = 0; d < dim; ++d) sum[static_cast<size_t>(d)] += weight * values[i][static_cast<size_t>(d)];
      ++i;
    }
    out.insert(out.end(), sum.begin(), sum.end());
  }

  const Shape& s_;
  std::vector<std::map<int64_t, double>> scores_;  // by KV head: position -> attention
  int64_t at_ = 0;
};

TEST_P(PolicyShapes, RanksAsTheOracleDoes) {
  const Shape& shape = GetParam().shape;
  if (!shape.plan.ranking || shape.window > 0) return;
  const std::vector<float> out = run(shape, kernels::available_kernels().back(), 2, 97);
  RankOracle oracle(shape);
  const size_t width = static_cast<size_t>(shape.heads * shape.head_dim);
  for (size_t pos = 0; pos < static_cast<size_t>(kLength); ++pos) {
    const std::vector<double> want = oracle.next();
    for (size_t i = 0; i < width; ++i) {
      ASSERT_NEAR(out[pos * width + i], want[i], 2e-5) << "position " << pos << " channel " << i;
    }
  }
}

TEST(Policies, AreTheirOwnInABatch) {
  // The plan is the world's, so the batch mixes sequences that are before and behind their budget.
  const Shape shape{6, 2, 64, DType::kF16, DType::kF16, 0, 0.125f, streaming(100, 4, 32)};
  const kernels::KernelSet& set = kernels::available_kernels().back();
  World world(shape, set, Method::kFlash, 2, 3, kLength);
  const int sizes[] = {1, 30, 5, 1, 64, 200, 1, 2};
  for (size_t i = 0; world.position(0) < kLength || world.position(1) < kLength || world.position(2) < kLength; ++i) {
    std::vector<Chunk> chunks;
    for (int s : {2, 0, 1}) {
      const int64_t size = sizes[(i + static_cast<size_t>(3 * s)) % 8];
      chunks.push_back({s, static_cast<int>(std::min(size, kLength - world.position(s)))});  // may be empty
    }
    world.step(chunks);
  }
  for (int s = 0; s < 3; ++s) {
    World alone(shape, set, Method::kFlash, 1, 3, kLength);
    alone.feed(s, 128);
    expect_same(world.out(s), alone.out(s), "sequence " + std::to_string(s));
  }
}

TEST(Policies, ABudgetThatIsNeverReachedChangesNoBit) {
  Shape shape{6, 2, 64, DType::kF16, DType::kF16, 0, 0.125f, {}};
  const kernels::KernelSet& set = kernels::available_kernels().back();
  const std::vector<float> full = run(shape, set, 2, 300);
  shape.plan = streaming(kLength, 4, 32);
  expect_same(run(shape, set, 2, 300), full, "budget = length");
  for (const char* name : {"h2o", "snapkv"}) {
    shape.plan = plan_of(name, kLength, 4, 32);
    expect_same(run(shape, set, 2, 300), full, name);
  }
  shape.plan = streaming(kLength - 1, 4, 32);
  const std::vector<float> less = run(shape, set, 2, 300);
  const size_t row = full.size() / kLength;
  EXPECT_FALSE(std::equal(less.end() - static_cast<std::ptrdiff_t>(row), less.end(),
                          full.end() - static_cast<std::ptrdiff_t>(row)));
}

// Every token belongs to one piece, in order, and no piece crosses a boundary behind the budget.
TEST(Pieces, CoverEachSpanOnce) {
  const kv::CachePlan plan = streaming(50, 4, 16), all;
  for (int64_t first : {0, 3, 49, 50, 51, 63, 64, 65, 1000}) {
    for (int32_t tokens : {1, 2, 15, 16, 17, 47, 100}) {
      const Span spans[] = {{nullptr, first, tokens, 5, &plan}, {nullptr, first, tokens, 200, &all}};
      Args args;
      args.spans = spans;
      int64_t at = first;
      int whole = 0;
      Pieces pieces;
      for (pieces.begin(args); pieces.next();) {
        for (const Span& p : pieces.spans()) {
          if (p.plan == &all) {
            EXPECT_EQ(p.tokens, tokens);
            ++whole;
            continue;
          }
          EXPECT_EQ(p.first_pos, at);
          EXPECT_EQ(p.row_begin, 5 + (at - first));
          const int64_t last = p.first_pos + p.tokens - 1;
          EXPECT_TRUE(last < 50 || (at >= 50 && at / 16 == last / 16)) << at << " to " << last;
          EXPECT_EQ(p.sinks, at < 50 ? 0 : 4);
          EXPECT_EQ(p.window, at < 50 ? 0 : 46);
          at += p.tokens;
        }
      }
      EXPECT_EQ(at, first + tokens);
      EXPECT_EQ(whole, 1);
    }
  }
}

}  // namespace
}  // namespace toccata::attention
