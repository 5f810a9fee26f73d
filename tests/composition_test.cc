// Promise 4: every combination of the options gives the answers of the plain run, bit for bit, or is refused with a
// sentence that names the fix; and docs/COMPOSITION.md says so.
//
// Plain: one request after the other on one thread, whole prompts, no prefix cache, no speculation, room for all; with
// the same attention, cache types and policy, which change the mathematics. Each combination also has to show that its
// options were at work: drafts were verified, prefixes found, tokens evicted, requests preempted.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/testing.h"
#include "engine/model_drafter.h"
#include "support/composition.h"
#include "support/composition_document.h"
#include "support/engine_rig.h"
#include "support/tiny_model.h"

namespace toccata {
namespace {

using test::Answer;
using test::Combination;

constexpr int32_t kVocab = 96;
constexpr int64_t kSequences = 4, kDraftRows = 16, kMaxRows = kSequences + kDraftRows + 512;
// Under a sanitizer some of the combinations: a prime number apart, so that each option meets each other one.
constexpr int kStride = test::kSanitized ? 7 : 1;
constexpr int64_t kBudget = 40;  // two blocks, and the interval's behind them

const test::TinyModel& tiny_model() {
  static const test::TinyModel model([] {
    test::TinyOptions o;
    o.types = {DType::kQ4_0, DType::kQ8_0};
    o.layers = 2;
    o.dim = o.ff = 64;
    o.heads = 2;
    o.kv_heads = 1;
    o.head_dim = 32;
    o.vocab = kVocab;
    return o;
  }());
  return model;
}

std::shared_ptr<model::ModelRunner> runner_for(attention::Method attention, const test::CacheChoice& cache) {
  model::RunnerOptions run;
  run.threads = 1;
  run.max_rows = kMaxRows;
  run.max_logit_rows = kSequences + kDraftRows + 64;
  run.attention = attention;
  run.k_type = cache.k_type;
  run.v_type = cache.v_type;
  if (cache.skip) run.f16_layers = {1};
  return std::move(*model::ModelRunner::load(*gguf::File::open(tiny_model().path()), run));
}

std::shared_ptr<kv::Pool> pool_for(const model::ModelRunner& runner, int64_t blocks) {
  return std::make_shared<kv::Pool>(*kv::Pool::create(runner.kv_layout(), blocks));
}

// Short prompts whose answers grow until the pool is full, two long ones with a common beginning, and one that repeats
// itself.
std::vector<Request> requests_of(size_t policy) {
  std::mt19937 rng(3);
  std::vector<Request> all;
  const auto add = [&](size_t shared, size_t own, int64_t answer, float temperature) {
    Request r;
    std::mt19937 common(1);
    for (size_t i = 0; i < shared; ++i) r.prompt.push_back(static_cast<int32_t>(1 + common() % (kVocab - 1)));
    for (size_t i = 0; i < own; ++i) r.prompt.push_back(static_cast<int32_t>(1 + rng() % (kVocab - 1)));
    r.max_tokens = answer;
    r.ignore_eos = true;
    r.sampling.temperature = temperature;
    r.sampling.top_k = 2;  // so that texts repeat themselves
    r.sampling.seed = all.size();
    r.sampling.logprobs = static_cast<int>(all.size() % 3);
    KvPolicy rule;
    rule.name = std::string(test::kPolicies[policy].name);
    if (policy > 0) {
      rule.budget = kBudget;
      rule.interval = 8;
      r.kv = rule;
    }
    all.push_back(std::move(r));
  };
  add(0, 5, 62, 0.0f);
  add(0, 20, 50, 0.0f);
  add(0, 11, 60, 0.8f);
  add(70, 3, 12, 0.8f);
  add(70, 9, 12, 0.0f);
  return all;
}

struct Done {
  std::vector<std::shared_ptr<Answer>> answers;
  EngineStats stats;
};

// The runners are made once for each attention and cache; a combination gets a core and pools of its own.
class Bench {
 public:
  Bench(size_t attention, size_t cache)
      : runner_(
            runner_for(attention == 0 ? attention::Method::kFlash : attention::Method::kNaive, test::kCaches[cache])),
        drafting_(runner_for(attention::Method::kFlash, test::kCaches[1])) {}

  std::unique_ptr<engine::Core> core(const Combination& c, int64_t sequences, int64_t blocks) {
    engine::Parts parts;
    parts.scheduler.max_sequences = sequences;
    parts.scheduler.max_draft_rows = kDraftRows;
    parts.scheduler.max_rows = kMaxRows;
    parts.scheduler.chunked = c.chunk != 0;
    parts.scheduler.chunk_size = c.chunk == 1 ? 7 : 0;
    parts.prefix_caching = c.prefix == 1;
    parts.runner = runner_;
    parts.pool = pool_for(*runner_, blocks);
    parts.tokenizer = std::make_unique<test::FakeTokenizer>(kVocab);
    parts.info = {"tiny", "llama", blocks * 32, kVocab, blocks * 32, kv::kMostPositions, {}};
    parts.clock = [this] { return time_ += 1e-3; };
    parts.drafters = spec::text_drafters(true);
    if (c.speculation == 3) {
      parts.drafters.model = std::move(*engine::ModelDrafter::create({drafting_, pool_for(*drafting_, 24), kVocab}));
    }
    constexpr SpecMethod kMethods[] = {SpecMethod::kOff, SpecMethod::kNgram, SpecMethod::kSuffix, SpecMethod::kModel};
    parts.speculation = {kMethods[c.speculation], 4};
    return std::move(*engine::Core::create(std::move(parts)));
  }

  // All requests, and, to find what the cache keeps, the first long one again.
  Done run(engine::Core& core, const std::vector<Request>& requests, bool at_once) {
    Done done;
    const auto add = [&](const Request& r) {
      done.answers.push_back(std::make_shared<Answer>());
      core.add(done.answers.size(), r, done.answers.back(), core.now());
    };
    const auto finish = [&core] {
      while (!core.idle()) core.step();
    };
    for (const Request& r : requests) {
      add(r);
      if (!at_once) finish();
    }
    finish();
    EXPECT_EQ(core.check_invariants(), "");
    add(requests[3]);
    finish();
    core.fill(done.stats);
    return done;
  }

 private:
  double time_ = 0;
  std::shared_ptr<model::ModelRunner> runner_, drafting_;
};

void expect_refused(Bench& bench, const Combination& c, const Request& request, std::string_view sentence) {
  const Status s = bench.core(c, kSequences, 64)->check(request);
  ASSERT_FALSE(s.has_value()) << test::name_of(c);
  EXPECT_EQ(s.error().message, sentence) << test::name_of(c);
}

void expect_kept(Bench& bench, const Combination& c, const std::vector<Request>& requests, const Done& plain) {
  const test::Promise promise = test::promise(c);
  const auto core = bench.core(c, kSequences, c.pool == 0 ? 64 : 4);
  for (const Request& r : requests) ASSERT_TRUE(core->check(r)) << test::name_of(c);
  const Done done = bench.run(*core, requests, true);
  for (size_t i = 0; i < requests.size() + 1; ++i) {
    test::expect_same(*done.answers[i], *plain.answers[i], test::name_of(c) + ", request " + std::to_string(i));
  }
  const EngineStats& s = done.stats;
  EXPECT_EQ(s.speculation.draft_tokens > 0, promise.drafts) << test::name_of(c);
  EXPECT_EQ(s.kv_evicted_tokens > 0, promise.evicts) << test::name_of(c);
  EXPECT_EQ(s.preemptions > 0, promise.preempts) << test::name_of(c);
  EXPECT_EQ(s.kv_blocks_used, 0) << test::name_of(c);
  if (!promise.shares || c.pool == 0) {  // where blocks are scarce nothing may be left of them
    EXPECT_EQ(s.prefix_hits > 0, promise.shares) << test::name_of(c);
  }
}

class Composition : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Caches, Composition, testing::Range<size_t>(0, test::kCaches.size()));

TEST_P(Composition, EachCombinationIsThePlainRunOrRefused) {
  std::optional<Bench> bench;
  std::vector<Request> requests;
  Done plain;
  size_t attention = SIZE_MAX, policy = SIZE_MAX;
  int number = 0;
  test::for_each_combination([&](const Combination& c) {
    if (c.cache != GetParam() || HasFailure()) return;
    const std::string_view refusal = test::promise(c).refusal;
    if (c.attention != attention) bench.emplace(c.attention, c.cache);
    if (c.attention != attention || c.policy != policy) {  // the first of them is the plainest
      requests = requests_of(c.policy);
      if (refusal.empty()) plain = bench->run(*bench->core(c, 1, 64), requests, false);
    }
    attention = c.attention;
    policy = c.policy;
    if (number++ % kStride != 0) return;
    if (refusal.empty()) {
      expect_kept(*bench, c, requests, plain);
    } else {
      expect_refused(*bench, c, requests[0], refusal);
    }
  });
}

TEST(CompositionDocument, SaysWhatIsTested) {
  const std::string path = std::string(TOCCATA_SOURCE_DIR) + "/docs/COMPOSITION.md";
  if (std::getenv("TOCCATA_WRITE_DOCS")) std::ofstream(path) << test::composition_document();
  std::ostringstream found;
  found << std::ifstream(path).rdbuf();
  EXPECT_EQ(found.str(), test::composition_document())
      << "to write it anew: TOCCATA_WRITE_DOCS=1 build/release/tests/composition_test "
         "--gtest_filter='CompositionDocument.*'";
}

}  // namespace
}  // namespace toccata
