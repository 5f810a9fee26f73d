// Eviction policies through whole models: the same bits however the work is cut and shared, fixed memory, and positions
// that may go on for ever.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/testing.h"
#include "engine/session.h"
#include "support/rows.h"
#include "support/tiny_model.h"

namespace toccata {
namespace {

using test::expect_same_bits;
using test::Rows;
using test::TinyModel;
using test::TinyOptions;

std::vector<int32_t> text(int n, int vocab, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<int32_t> ids(static_cast<size_t>(n));
  for (int32_t& id : ids) id = static_cast<int32_t>(rng() % static_cast<unsigned>(vocab));
  return ids;
}

std::unique_ptr<model::ModelRunner> load(const TinyModel& model, model::RunnerOptions options = {}) {
  auto file = gguf::File::open(model.path());
  if (options.threads == 0) options.threads = 2;
  return std::move(*model::ModelRunner::load(*file, options));
}

KvPolicy rule(const char* name, int64_t budget, int64_t interval) {
  KvPolicy r;
  r.name = name;
  r.budget = budget;
  r.interval = interval;
  return r;
}

kv::CachePlan plan_of(const model::ModelRunner& runner, const KvPolicy& r) {
  return *kv::make_plan(r, model::kv_shape(runner.config()));
}

// Logits of every token; the pool has exactly the plan's blocks.
Rows all_logits(model::ModelRunner& runner, const KvPolicy& r, const std::vector<int32_t>& ids, int64_t chunk) {
  const kv::CachePlan plan = plan_of(runner, r);
  auto pool = kv::Pool::create(runner.kv_layout(), plan.blocks(std::ssize(ids)));
  Session session(runner, *pool, plan);
  Rows rows;
  const Status s = session.append_with_logits(
      ids, 0, chunk, [&](int64_t, std::span<const float> row) { rows.emplace_back(row.begin(), row.end()); });
  EXPECT_TRUE(s) << s.error().message;
  return rows;
}

std::vector<TinyOptions> models() {
  std::vector<TinyOptions> all(3);
  all[0].types = {DType::kQ4_0, DType::kQ8_0};
  all[1].arch = "qwen3";
  all[1].heads = 6;
  all[1].head_dim = 32;
  all[2].arch = "gemma3";
  all[2].layers = 7;  // the sixth layer sees everything, the others a window of 48
  all[2].kv_heads = 1;
  return all;
}

const char* const kPolicies[] = {"streaming", "h2o", "snapkv"};

class Policies : public testing::TestWithParam<TinyOptions> {};
INSTANTIATE_TEST_SUITE_P(All, Policies, testing::ValuesIn(models()), [](const auto& p) { return p.param.arch; });

TEST_P(Policies, SameBitsForEveryChunkThreadCountAndKernel) {
  const TinyModel model(GetParam());
  const auto ids = text(110, GetParam().vocab, 5);
  for (const char* name : kPolicies) {
    for (int64_t interval : test::cases({8, 32}, {8})) {
      Rows want;
      for (const kernels::KernelSet& set : kernels::available_kernels()) {
        const bool fastest = &set == &kernels::available_kernels().back();
        for (int threads : {1, 3}) {
          if (!fastest && threads == 1) continue;
          model::RunnerOptions options;
          options.threads = threads;
          options.kernels = &set;
          auto runner = load(model, options);
          for (int64_t chunk : test::cases({110, 33, 7, 1}, {110, 33})) {
            if (threads == 3 && chunk < (fastest ? 7 : 33)) continue;
            const Rows got = all_logits(*runner, rule(name, 41, interval), ids, chunk);
            if (want.empty()) want = got;
            expect_same_bits(got, want,
                             std::string(name) + ", " + std::string(set.isa) + ", " + std::to_string(threads) +
                                 " threads, chunk " + std::to_string(chunk));
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST_P(Policies, ABudgetOfTheWholeTextIsFull) {
  const TinyModel model(GetParam());
  auto runner = load(model);
  const auto ids = text(100, GetParam().vocab, 6);
  const Rows full = all_logits(*runner, {}, ids, 64);
  for (const char* name : kPolicies) {
    expect_same_bits(all_logits(*runner, rule(name, 100, 32), ids, 64), full, name);
    const Rows less = all_logits(*runner, rule(name, 60, 32), ids, 64);
    EXPECT_NE(less.back(), full.back()) << name;
  }
}

// Sequences under different policies share each step.
TEST_P(Policies, SameBitsInABatchAsAlone) {
  const TinyModel model(GetParam());
  auto runner = load(model);
  std::vector<KvPolicy> rules = {
      {}, rule("streaming", 40, 32), rule("h2o", 50, 8), rule("streaming", 20, 8), rule("snapkv", 30, 16)};
  std::vector<std::vector<int32_t>> ids;
  std::vector<Rows> want;
  auto pool = kv::Pool::create(runner->kv_layout(), 64);
  std::vector<std::unique_ptr<Session>> sessions;
  for (size_t i = 0; i < rules.size(); ++i) {
    ids.push_back(text(90 + 10 * static_cast<int>(i), GetParam().vocab, static_cast<unsigned>(i)));
    want.push_back(all_logits(*runner, rules[i], ids[i], 0));
    sessions.push_back(std::make_unique<Session>(*runner, *pool, plan_of(*runner, rules[i])));
  }
  std::vector<float> logits(300 * runner->logit_stride());
  std::mt19937 rng(9);
  while (true) {
    std::vector<model::SpanInput> spans;
    std::vector<size_t> who;
    for (size_t i = 0; i < ids.size(); ++i) {
      const size_t done = static_cast<size_t>(sessions[i]->length());
      const size_t n = std::min<size_t>(1 + rng() % 50, ids[i].size() - done);
      if (n == 0) continue;
      ASSERT_TRUE(sessions[i]->reserve(static_cast<int64_t>(done + n)));
      spans.push_back(sessions[i]->span(std::span(ids[i]).subspan(done, n), 0));
      who.push_back(i);
    }
    if (spans.empty()) break;
    const Status s = runner->forward({spans}, *pool, logits.data());
    ASSERT_TRUE(s) << s.error().message;
    size_t row = 0;
    for (size_t k = 0; k < spans.size(); ++k) {
      for (size_t t = 0; t < spans[k].tokens.size(); ++t, ++row) {
        const size_t position = static_cast<size_t>(spans[k].first_pos) + t;
        const std::vector<float>& w = want[who[k]][position];
        ASSERT_EQ(std::memcmp(logits.data() + row * runner->logit_stride(), w.data(), w.size() * sizeof(float)), 0)
            << "sequence " << who[k] << ", token " << position;
      }
      sessions[who[k]]->commit(spans[k].tokens);
    }
  }
}

TEST_P(Policies, GoOnInFixedMemory) {
  const TinyModel model(GetParam());
  auto runner = load(model);
  for (const char* name : kPolicies) {
    const kv::CachePlan plan = plan_of(*runner, rule(name, 64, 32));
    auto pool = kv::Pool::create(runner->kv_layout(), plan.blocks(1 << 20));
    Session session(*runner, *pool, plan);
    const auto ids = text(5000, GetParam().vocab, 8);  // beyond the 4,096 tokens of the model's context
    for (size_t at = 0; at < ids.size(); at += 500) {
      const Status s = session.append(std::span(ids).subspan(at, 500));
      ASSERT_TRUE(s) << s.error().message;
      EXPECT_EQ(std::ssize(session.blocks()), pool->capacity());
    }
    for (float x : session.logits()) ASSERT_TRUE(std::isfinite(x));
    // No way back but a short one; then the same bits again.
    const std::vector<float> last(session.logits().begin(), session.logits().end());
    session.truncate(4999);
    if (plan.ranking) {  // what attention has added up cannot be taken back: from the beginning
      ASSERT_EQ(session.length(), 0);
      ASSERT_TRUE(session.append(std::span(ids).first(4999)));
    }
    ASSERT_EQ(session.length(), 4999);
    ASSERT_TRUE(session.append(std::span(ids).last(1)));
    EXPECT_EQ(std::memcmp(session.logits().data(), last.data(), last.size() * sizeof(float)), 0);
    session.truncate(4000);
    EXPECT_EQ(session.length(), 0);
    EXPECT_EQ(pool->free_blocks(), pool->capacity());
  }
}

// In a model of one layer K and V depend on token and position alone, so what a query of a streaming cache sees is the
// same wherever in the text it stands, up to rounding.
TEST(Streaming, PositionsCountInsideTheCache) {
  TinyOptions o;
  o.layers = 1;
  const TinyModel model(o);
  model::RunnerOptions options;
  options.k_type = options.v_type = DType::kF32;
  auto runner = load(model, options);
  const kv::CachePlan plan = plan_of(*runner, rule("streaming", 40, 32));
  const auto sinks = text(4, o.vocab, 1), latest = text(64, o.vocab, 2);
  const auto at = [&](int64_t position) {
    auto pool = kv::Pool::create(runner->kv_layout(), plan.blocks(1 << 20));
    std::vector<kv::BlockId> blocks(static_cast<size_t>(plan.blocks(1 << 20)));
    for (kv::BlockId& b : blocks) b = *pool->allocate();
    std::vector<float> logits(64 * runner->logit_stride());
    const model::SpanInput spans[] = {{blocks.data(), 0, sinks, -1, &plan},
                                      {blocks.data(), position, latest, 63, &plan}};
    EXPECT_TRUE(runner->forward({std::span(spans).first(1)}, *pool, logits.data()));
    EXPECT_TRUE(runner->forward({std::span(spans).last(1)}, *pool, logits.data()));
    logits.resize(static_cast<size_t>(o.vocab));
    return logits;
  };
  const std::vector<float> near = at(64);
  float largest = 0;
  for (float x : near) largest = std::max(largest, std::abs(x));
  for (int64_t position : {int64_t{4096}, int64_t{100000}, kv::kMostPositions - 64}) {
    const std::vector<float> far = at(position);
    for (size_t i = 0; i < near.size(); ++i) ASSERT_NEAR(far[i], near[i], 1e-4f * largest) << position;
  }
}

TEST(Policies, NaiveAttentionIsRefusedByName) {
  const TinyModel model({});
  model::RunnerOptions options;
  options.attention = attention::Method::kNaive;
  auto runner = load(model, options);
  auto pool = kv::Pool::create(runner->kv_layout(), 8);
  Session session(*runner, *pool, plan_of(*runner, rule("streaming", 40, 32)));
  const Status s = session.append(text(3, 100, 1));
  ASSERT_FALSE(s.has_value());
  EXPECT_NE(s.error().message.find("--attention flash"), std::string::npos);
}

}  // namespace
}  // namespace toccata
