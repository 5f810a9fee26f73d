// The decoder against a double-precision oracle, and against itself: promise 1, the same bits however a prompt is cut,
// batched, threaded and whichever kernels run.
#include "model/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/testing.h"
#include "engine/session.h"
#include "kv/cache_types.h"
#include "support/rows.h"
#include "support/tiny_model.h"

namespace toccata {
namespace {

using test::TinyModel;
using test::TinyOptions;

std::vector<int32_t> prompt(int n, int vocab, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<int32_t> ids(static_cast<size_t>(n));
  for (int32_t& id : ids) id = static_cast<int32_t>(rng() % static_cast<unsigned>(vocab));
  return ids;
}

std::unique_ptr<model::ModelRunner> load(const std::string& path, model::RunnerOptions options = {}) {
  auto file = gguf::File::open(path);
  EXPECT_TRUE(file) << file.error().message;
  if (options.threads == 0) options.threads = 2;
  auto runner = model::ModelRunner::load(*file, options);
  EXPECT_TRUE(runner) << (runner ? "" : runner.error().message);
  return runner ? std::move(*runner) : nullptr;
}

using test::expect_same_bits;
using test::Rows;

// Logits of every token, fed in chunks.
Rows all_logits(model::ModelRunner& runner, const std::vector<int32_t>& ids, int64_t chunk) {
  auto pool = kv::Pool::create(runner.kv_layout(), static_cast<int64_t>(ids.size()) / kernels::kKvBlock + 1);
  EXPECT_TRUE(pool);
  Session session(runner, *pool);
  Rows rows;
  const Status s = session.append_with_logits(
      ids, 0, chunk, [&](int64_t, std::span<const float> row) { rows.emplace_back(row.begin(), row.end()); });
  EXPECT_TRUE(s) << s.error().message;
  return rows;
}

double worst_relative(const Rows& got, const std::vector<test::Vec>& want) {
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    double scale = 0;
    for (double v : want[i]) scale = std::max(scale, std::abs(v));
    for (size_t j = 0; j < want[i].size(); ++j) {
      worst = std::max(worst, std::abs(static_cast<double>(got[i][j]) - want[i][j]) / scale);
    }
  }
  return worst;
}

std::vector<TinyOptions> architectures() {
  std::vector<TinyOptions> all(6);
  all[1].arch = "qwen2";
  all[1].tied = false;
  all[2].arch = "qwen3";
  all[2].heads = 6;
  all[2].head_dim = 32;
  all[3].arch = "gemma3";
  all[3].layers = 7;  // the sixth layer sees everything, the others a window
  all[3].kv_heads = 1;
  all[4].rope_factors = true;
  all[4].kv_heads = 4;
  all[5].arch = "llama";
  all[5].head_dim = 80;
  all[5].vocab = 333;  // no multiple of a group of rows
  return all;
}

class Architecture : public testing::TestWithParam<TinyOptions> {};

TEST_P(Architecture, AgreesWithTheOracle) {
  const TinyOptions o = GetParam();
  const TinyModel model(o);
  for (attention::Method method : {attention::Method::kFlash, attention::Method::kNaive}) {
    model::RunnerOptions options;
    options.k_type = options.v_type = DType::kF32;
    options.attention = method;
    for (kv::Rotation rotation : {kv::Rotation::kOff, kv::Rotation::kOn}) {  // exact apart from rounding
      options.kv_rotation = rotation;
      auto runner = load(model.path(), options);
      ASSERT_TRUE(runner);
      const auto ids = prompt(100, o.vocab, 3);
      const auto want = model.oracle(runner->config()).logits(ids);
      EXPECT_LT(worst_relative(all_logits(*runner, ids, 0), want), 2e-5) << static_cast<int>(rotation);
    }
  }
}

TEST_P(Architecture, SameBitsForEveryChunkThreadCountAndKernel) {
  TinyOptions o = GetParam();
  o.types = {DType::kQ4_0, DType::kQ8_0, DType::kF16};
  if (o.arch != "qwen3" && o.head_dim == 64) o.types = {DType::kQ4_K, DType::kQ6_K, DType::kQ5_0, DType::kBF16};
  const TinyModel model(o);
  const auto ids = prompt(150, o.vocab, 5);
  Rows want;
  for (const kernels::KernelSet& set : kernels::available_kernels()) {
    for (int threads : test::cases({1, 2, 3}, {2})) {
      model::RunnerOptions options;
      options.threads = threads;
      options.kernels = &set;
      auto runner = load(model.path(), options);
      ASSERT_TRUE(runner);
      for (int64_t chunk : test::cases({150, 64, 7, 1}, {150, 7})) {
        if (threads == 3 && chunk == 1) continue;
        const Rows got = all_logits(*runner, ids, chunk);
        if (want.empty()) want = got;
        expect_same_bits(
            got, want,
            std::string(set.isa) + ", " + std::to_string(threads) + " threads, chunk " + std::to_string(chunk));
      }
    }
  }
}

// Every type of K with another of V; the present chunk is read back from the cache, so a coarse type changes the result
// but not with the chunks.
TEST_P(Architecture, SameBitsForEveryCacheType) {
  TinyOptions o = GetParam();
  o.types = {DType::kQ4_0, DType::kQ8_0, DType::kF16};
  const TinyModel model(o);
  const auto ids = prompt(110, o.vocab, 6);
  const std::vector<test::Vec> exact = model.oracle(load(model.path())->config()).logits(ids);
  for (size_t t = 0; t < kv::kCacheTypes.size(); ++t) {
    const kv::CacheType k = kv::kCacheTypes[t], v = kv::kCacheTypes[(t + GetParam().layers) % kv::kCacheTypes.size()];
    const std::string types = std::string(k.name) + " and " + std::string(v.name);
    Rows want;
    for (const kernels::KernelSet& set : kernels::available_kernels()) {
      model::RunnerOptions options;
      options.k_type = k.type;
      options.v_type = v.type;
      options.kernels = &set;
      options.threads = 1;
      auto runner = load(model.path(), options);
      ASSERT_TRUE(runner);
      for (int64_t chunk : test::cases({110, 7}, {33})) {
        const Rows got = all_logits(*runner, ids, chunk);
        if (want.empty()) want = got;
        expect_same_bits(got, want, types + ", " + std::string(set.isa) + ", chunk " + std::to_string(chunk));
      }
    }
    const bool four = k.type == DType::kQ4_0 || v.type == DType::kQ4_0;
    EXPECT_LT(worst_relative(want, exact), four ? 0.4 : 0.08) << types;
  }
}

// Layers with a cache of their own type: all of them f16 is an f16 cache, one of them is neither.
TEST_P(Architecture, LayersMayKeepF16) {
  TinyOptions o = GetParam();
  const TinyModel model(o);
  const auto ids = prompt(70, o.vocab, 6);
  const auto rows = [&](DType type, std::vector<int> layers, attention::Method method, int64_t chunk) {
    model::RunnerOptions options;
    options.k_type = options.v_type = type;
    options.f16_layers = std::move(layers);
    options.attention = method;
    return all_logits(*load(model.path(), options), ids, chunk);
  };
  std::vector<int> all;
  for (int l = o.layers - 1; l >= 0; --l) all.push_back(l);
  for (attention::Method method : {attention::Method::kFlash, attention::Method::kNaive}) {
    const Rows f16 = rows(DType::kF16, {}, method, 70), q4 = rows(DType::kQ4_0, {}, method, 70);
    expect_same_bits(rows(DType::kQ4_0, all, method, 70), f16, "all layers f16");
    const Rows mixed = rows(DType::kQ4_0, {1, 1}, method, 70);
    expect_same_bits(rows(DType::kQ4_0, {1}, method, 9), mixed, "in chunks");
    EXPECT_NE(mixed, f16);
    EXPECT_NE(mixed, q4);
  }
  model::RunnerOptions options;
  options.f16_layers = {0, o.layers};
  const auto refused = model::ModelRunner::load(*gguf::File::open(model.path()), options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("layer " + std::to_string(o.layers)), std::string::npos);
}

TEST_P(Architecture, SameBitsInABatchAsAlone) {
  TinyOptions o = GetParam();
  o.types = {DType::kQ4_1, DType::kQ8_0};
  const TinyModel model(o);
  auto runner = load(model.path());
  ASSERT_TRUE(runner);
  // Three sequences in one step each: a long chunk, a short one and a decode; then all decode together.
  const std::vector<std::vector<int32_t>> ids = {prompt(90, o.vocab, 1), prompt(41, o.vocab, 2),
                                                 prompt(70, o.vocab, 3)};
  std::vector<Rows> want;
  for (const auto& p : ids) want.push_back(all_logits(*runner, p, 0));
  auto pool = kv::Pool::create(runner->kv_layout(), 16);
  ASSERT_TRUE(pool);
  std::vector<std::unique_ptr<Session>> sessions;
  for (size_t i = 0; i < ids.size(); ++i) sessions.push_back(std::make_unique<Session>(*runner, *pool));
  std::vector<float> logits(200 * runner->logit_stride());
  std::mt19937 rng(9);
  std::vector<size_t> done(ids.size(), 0);
  while (true) {
    std::vector<model::SpanInput> spans;
    std::vector<size_t> who;
    for (size_t i = 0; i < ids.size(); ++i) {
      const size_t n = std::min<size_t>(1 + rng() % 30, ids[i].size() - done[i]);
      if (n == 0) continue;
      ASSERT_TRUE(sessions[i]->reserve(static_cast<int64_t>(done[i] + n)));
      spans.push_back({sessions[i]->blocks().data(), static_cast<int64_t>(done[i]),
                       std::span(ids[i]).subspan(done[i], n), static_cast<int32_t>(rng() % n)});
      who.push_back(i);
    }
    if (spans.empty()) break;
    const Status s = runner->forward({spans}, *pool, logits.data());
    ASSERT_TRUE(s) << s.error().message;
    size_t row = 0;
    for (size_t k = 0; k < spans.size(); ++k) {
      for (size_t t = static_cast<size_t>(spans[k].logits_from); t < spans[k].tokens.size(); ++t, ++row) {
        const std::vector<float>& w = want[who[k]][done[who[k]] + t];
        ASSERT_EQ(std::memcmp(logits.data() + row * runner->logit_stride(), w.data(), w.size() * sizeof(float)), 0)
            << "sequence " << who[k] << ", token " << done[who[k]] + t;
      }
      done[who[k]] += spans[k].tokens.size();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Architecture, testing::ValuesIn(architectures()),
                         [](const auto& tested) { return tested.param.arch + "_" + std::to_string(tested.index); });

// Every weight type through a whole model: equal bits in all kernels, and near the exact weights' result (activations
// are rounded to eight bits, hence the tolerance).
TEST(WeightTypes, EachRunsAlikeInAllKernels) {
  for (int t = 0; t < kDTypeCount; ++t) {
    TinyOptions o;
    o.types = {static_cast<DType>(t)};
    o.layers = 2;
    const TinyModel model(o);
    const auto ids = prompt(40, o.vocab, 5);
    Rows want;
    for (const kernels::KernelSet& set : kernels::available_kernels()) {
      model::RunnerOptions options;
      options.kernels = &set;
      auto runner = load(model.path(), options);
      ASSERT_TRUE(runner);
      const Rows got = all_logits(*runner, ids, 0);
      if (want.empty()) want = got;
      const std::string name(dtype_info(o.types[0]).name);
      expect_same_bits(got, want, name + " " + std::string(set.isa));
      EXPECT_LT(worst_relative(got, model.oracle(runner->config()).logits(ids)), 0.08) << name;
    }
  }
}

TEST(Forward, RefusesWhatItCannotRunAndWritesNothing) {
  const TinyModel model({});
  model::RunnerOptions options;
  options.max_rows = 8;
  options.max_logit_rows = 2;
  auto runner = load(model.path(), options);
  ASSERT_TRUE(runner);
  auto pool = kv::Pool::create(runner->kv_layout(), 2);
  ASSERT_TRUE(pool);
  const std::vector<kv::BlockId> blocks = {0, 1}, bad_blocks = {0, 2};
  std::vector<float> logits(16 * runner->logit_stride());
  const std::vector<int32_t> good = {1, 2, 3}, bad = {1, 330}, negative = {-1}, many(9, 1);
  const auto run = [&](model::SpanInput s) {
    const Status status = runner->forward({std::span(&s, 1)}, *pool, logits.data());
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(run({blocks.data(), 0, good, 2}), "");
  EXPECT_NE(run({blocks.data(), 0, bad, 1}).find("330"), std::string::npos);
  EXPECT_NE(run({blocks.data(), 0, negative, 0}).find("-1"), std::string::npos);
  EXPECT_NE(run({blocks.data(), 0, many, 8}).find("9 tokens"), std::string::npos);
  EXPECT_NE(run({blocks.data(), 0, {}, -1}), "");
  EXPECT_NE(run({blocks.data(), -1, good, 2}), "");
  EXPECT_NE(run({blocks.data(), 0, good, 3}), "");
  EXPECT_NE(run({blocks.data(), 0, good, 0}).find("3 logit rows"), std::string::npos);
  EXPECT_NE(run({bad_blocks.data(), 31, good, 2}).find("block"), std::string::npos);
  EXPECT_NE(run({nullptr, 0, good, 2}), "");
}

TEST(Load, NamesTheTensorThatIsWrong) {
  TinyOptions o;
  o.arch = "qwen2";
  const auto message = [](const std::string& path) {
    auto file = gguf::File::open(path);
    EXPECT_TRUE(file);
    auto runner = model::ModelRunner::load(*file, {});
    return runner ? std::string() : runner.error().message;
  };
  const TinyModel model(o);
  EXPECT_EQ(message(model.path()), "");
  // A copy whose tensors are renamed in place: one is then missing, and one is unknown.
  std::ifstream in(model.path(), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  const size_t at = bytes.find("blk.1.ffn_up.weight");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 6] = 'x';
  const gguf::TestFolder folder;
  EXPECT_NE(message(folder.write("renamed.gguf", bytes)).find("'blk.1.ffn_up.weight'"), std::string::npos);
}

}  // namespace
}  // namespace toccata
