// The whole engine on tiny models: promise 1 for requests that meet in every way, and the engine's interface.
#include "toccata/engine.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <random>
#include <thread>

#include "base/testing.h"
#include "engine/core.h"
#include "engine/threaded_engine.h"
#include "support/answers.h"
#include "support/fake_model.h"
#include "support/tiny_model.h"

namespace toccata {
namespace {

using test::Answer;

struct Setting {
  std::string name;
  int threads = 2;
  int64_t blocks = 400;
  int64_t max_sequences = 16;
  int64_t chunk_size = 0;
  bool prefix_caching = true, chunked = true;
  int rounds = 1;  // the same requests again: the cache is warm
  DType k_type = DType::kF16, v_type = DType::kF16;
};

constexpr int32_t kVocab = 330;
constexpr int64_t kContext = 640;

const test::TinyModel& tiny_model() {
  static const test::TinyModel model([] {
    test::TinyOptions o;
    o.types = {DType::kQ4_0, DType::kQ8_0, DType::kF16};
    o.layers = 2;
    o.dim = 128;
    o.ff = 192;
    o.heads = 4;
    o.head_dim = 32;
    return o;
  }());
  return model;
}

std::unique_ptr<Engine> engine_for(const Setting& s) {
  engine::Parts parts;
  parts.scheduler.max_sequences = s.max_sequences;
  parts.scheduler.max_rows = s.max_sequences + 512;
  parts.scheduler.chunked = s.chunked;
  parts.scheduler.chunk_size = s.chunk_size;
  parts.prefix_caching = s.prefix_caching;
  model::RunnerOptions run;
  run.threads = s.threads;
  run.max_rows = parts.scheduler.max_rows;
  run.k_type = s.k_type;
  run.v_type = s.v_type;
  run.max_logit_rows = s.max_sequences + parts.scheduler.max_prompt_logit_rows;
  parts.runner = std::move(*model::ModelRunner::load(*gguf::File::open(tiny_model().path()), run));
  parts.tokenizer = std::make_unique<test::FakeTokenizer>(kVocab);
  parts.pool = std::make_unique<kv::Pool>(*kv::Pool::create(parts.runner->kv_layout(), s.blocks));
  parts.info = {"tiny", "llama", std::min(kContext, s.blocks * 32), kVocab};
  return engine::start_engine(std::move(*engine::Core::create(std::move(parts))), {});
}

// 64 requests of mixed lengths; half of them share beginnings.
std::vector<Request> mixed_requests(size_t n) {
  std::mt19937 rng(7);
  std::vector<Request> all;
  for (size_t i = 0; i < n; ++i) {
    Request r;
    const size_t length = i % 8 == 0 ? 300 + rng() % 200 : 1 + rng() % 120;
    std::mt19937 family(static_cast<unsigned>(i % 4));
    const size_t shared = i % 2 == 0 ? length : length / 2;
    for (size_t k = 0; k < length; ++k)
      r.prompt.push_back(static_cast<int32_t>((k < shared ? family() : rng()) % kVocab));
    r.max_tokens = static_cast<int64_t>(i % 3 == 1 ? 60 + rng() % 100 : 1 + rng() % 40);
    r.sampling.temperature = i % 3 == 0 ? 0.0f : 0.9f;
    r.sampling.top_k = i % 2 == 0 ? 40 : 0;
    r.sampling.seed = i;
    r.sampling.logprobs = static_cast<int>(i % 3);
    if (i % 5 == 0) r.sampling.frequency_penalty = 0.5f;
    if (i % 7 == 0) r.prompt_logprobs = 2;
    all.push_back(std::move(r));
  }
  return all;
}

using Answers = std::vector<std::shared_ptr<Answer>>;

// Each on its own, one after the other, without anything to share.
Answers alone(const std::vector<Request>& requests, DType k_type, DType v_type) {
  auto engine = engine_for({"alone", 1, 400, 1, 512, false, true, 1, k_type, v_type});
  Answers all;
  for (const Request& r : requests) {
    all.push_back(std::make_shared<Answer>());
    EXPECT_TRUE(engine->submit(r, all.back()));
    all.back()->wait();
  }
  return all;
}

class BitExact : public testing::TestWithParam<Setting> {};

TEST_P(BitExact, RequestsTogetherAnswerAsAlone) {
  static const std::vector<Request> requests = mixed_requests(test::kSanitized ? 24 : 64);
  static std::map<std::pair<DType, DType>, Answers> answers;  // by cache types
  const Setting& s = GetParam();
  Answers& want = answers[{s.k_type, s.v_type}];
  if (want.empty()) want = alone(requests, s.k_type, s.v_type);
  auto engine = engine_for(s);
  std::mt19937 rng(11);
  for (int round = 0; round < s.rounds; ++round) {
    Answers got;
    for (const Request& r : requests) {
      got.push_back(std::make_shared<Answer>());
      ASSERT_TRUE(engine->submit(r, got.back()));
      if (rng() % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(rng() % 4000));
    }
    for (size_t i = 0; i < got.size(); ++i) {
      got[i]->wait();
      ASSERT_NO_FATAL_FAILURE(test::expect_same(*got[i], *want[i], s.name + ", request " + std::to_string(i)));
    }
  }
  while (engine->stats().running > 0) std::this_thread::yield();  // the last step is being entered
  const EngineStats stats = engine->stats();
  EXPECT_EQ(stats.kv_blocks_used, 0);
  EXPECT_EQ(stats.waiting + stats.waiting_tokens, 0);
  if (s.rounds > 1) {
    EXPECT_GT(stats.prefix_hits * 3, stats.prefix_queries);
  }
  if (s.name.starts_with("thrashing")) {
    EXPECT_GT(stats.preemptions, 0u) << "too roomy a pool to test what it is for";
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, BitExact,
                         testing::Values(Setting{"cold", 2}, Setting{"warm", 2, 1000, 16, 0, true, true, 2},
                                         Setting{"thrashing", 2, 24, 16, 0}, Setting{"thrashing_chunk_7", 1, 22, 16, 7},
                                         Setting{"thrashing_uncached", 2, 24, 12, 64, false},
                                         Setting{"chunk_1", 2, 400, 16, 1}, Setting{"chunk_100", 3, 400, 32, 100},
                                         Setting{"classic", 2, 400, 16, 0, true, false},
                                         Setting{"one_by_one", 2, 60, 1, 33}),
                         [](const auto& tested) { return tested.param.name; });

// The cache types where K and V meet everything at once: a pool that is too small, a warm cache, chunks of odd sizes.
std::vector<Setting> cache_type_settings() {
  using Named = std::pair<std::string, std::pair<DType, DType>>;
  const auto types = test::cases<Named>({{"f32", {DType::kF32, DType::kF32}},
                                         {"bf16", {DType::kBF16, DType::kBF16}},
                                         {"q8_0", {DType::kQ8_0, DType::kQ8_0}},
                                         {"q4_0", {DType::kQ4_0, DType::kQ4_0}},
                                         {"q8_0_q4_0", {DType::kQ8_0, DType::kQ4_0}},
                                         {"f16_q8_0", {DType::kF16, DType::kQ8_0}}},
                                        {{"q8_0_q4_0", {DType::kQ8_0, DType::kQ4_0}}});
  std::vector<Setting> all;
  for (const auto& [name, pair] : types) {
    all.push_back({"thrashing_chunk_7_" + name, 2, 24, 16, 7, true, true, 1, pair.first, pair.second});
    all.push_back({"warm_" + name, 1, 1000, 16, 0, true, true, 2, pair.first, pair.second});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(CacheTypes, BitExact, testing::ValuesIn(cache_type_settings()),
                         [](const auto& tested) { return tested.param.name; });

struct FakeEngine {
  std::unique_ptr<Engine> engine;
  explicit FakeEngine(engine::QueueLimits limits = {}, std::function<Status(const model::Step&)> before = {}) {
    engine::Parts parts;
    parts.scheduler.max_sequences = 4;
    parts.scheduler.max_rows = 516;
    auto runner = std::make_unique<test::FakeRunner>(516, 68);
    runner->before_forward = std::move(before);
    parts.pool = std::make_unique<kv::Pool>(*kv::Pool::create(runner->kv_layout(), 64));
    parts.runner = std::move(runner);
    parts.tokenizer = std::make_unique<test::FakeTokenizer>();
    parts.info = {"fake", "fake", 512, 48};
    engine = engine::start_engine(std::move(*engine::Core::create(std::move(parts))), limits);
  }
};

Request endless(size_t prompt = 5) {
  Request r;
  r.prompt.assign(prompt, 7);
  r.ignore_eos = true;
  return r;
}

// A gate that holds the model inside a step.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false, entered = false;
  Status pass() {
    std::unique_lock lock(mutex);
    entered = true;
    changed.notify_all();
    changed.wait(lock, [this] { return open; });
    return {};
  }
  void wait_entered() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return entered; });
  }
  void let_go() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
};

TEST(EngineQueue, RefusesWhatDoesNotFit) {
  Gate gate;
  FakeEngine f({3, 100}, [&](const model::Step&) { return gate.pass(); });
  Answers answers;
  const auto submit = [&](Request r) {
    answers.push_back(std::make_shared<Answer>());
    const Result<RequestId> id = f.engine->submit(std::move(r), answers.back());
    if (id) return ErrorCode::kInternal;
    answers.pop_back();
    return id.error().code;
  };
  Request r = endless();
  r.max_tokens = 2;
  EXPECT_EQ(submit(r), ErrorCode::kInternal);  // accepted
  gate.wait_entered();
  EXPECT_EQ(submit(r), ErrorCode::kInternal);
  Request big = endless(96);
  big.max_tokens = 1;
  EXPECT_EQ(submit(big), ErrorCode::kResourceExhausted);  // too many tokens
  EXPECT_EQ(submit(r), ErrorCode::kInternal);
  EXPECT_EQ(submit(r), ErrorCode::kInternal);  // the first has left the queue when the step began
  EXPECT_EQ(submit(r), ErrorCode::kResourceExhausted);
  EXPECT_EQ(f.engine->stats().waiting_tokens, 15);
  Request bad = endless();
  bad.prompt[2] = 48;
  EXPECT_EQ(submit(bad), ErrorCode::kInvalidArgument);
  EXPECT_EQ(submit(endless(512)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(submit(Request{}), ErrorCode::kInvalidArgument);
  f.engine->drain();
  EXPECT_EQ(submit(r), ErrorCode::kUnavailable);
  EXPECT_TRUE(f.engine->stats().draining);
  gate.let_go();
  for (auto& a : answers) {
    a->wait();
    EXPECT_EQ(a->reason, FinishReason::kLength);
  }
}

TEST(EngineCancel, EndsARequestWithinAStepInEveryState) {
  FakeEngine f;
  Answers answers;
  std::vector<RequestId> ids;
  for (int i = 0; i < 20; ++i) {  // four run, the others wait
    answers.push_back(std::make_shared<Answer>());
    ids.push_back(*f.engine->submit(endless(300), answers.back()));
  }
  for (RequestId id : ids) f.engine->cancel(id);
  f.engine->cancel(12345);
  for (auto& a : answers) {
    a->wait();
    EXPECT_TRUE(a->reason == FinishReason::kCancelled || a->reason == FinishReason::kLength);
  }
  // From inside a listener, too.
  auto self = std::make_shared<Answer>();
  std::atomic<RequestId> id = 0;
  self->on_token = [&](size_t n) {
    if (n >= 3 && id != 0) f.engine->cancel(id);
  };
  id = *f.engine->submit(endless(), self);
  self->wait();
  EXPECT_TRUE(self->reason == FinishReason::kCancelled);
  EXPECT_LT(self->tokens.size(), 500u);
}

TEST(EngineEnd, CancelsWhatIsLeft) {
  Answers answers;
  {
    FakeEngine f;
    for (int i = 0; i < 9; ++i) {
      answers.push_back(std::make_shared<Answer>());
      ASSERT_TRUE(f.engine->submit(endless(), answers.back()));
    }
  }
  for (auto& a : answers) EXPECT_EQ(a->finished, 1);
}

TEST(EngineFault, EndsTheRequestsOfTheStepAndGoesOn) {
  std::atomic<bool> broken = true;
  FakeEngine f({}, [&](const model::Step&) -> Status {
    if (broken) return fail(ErrorCode::kInternal, "no luck");
    return {};
  });
  auto first = std::make_shared<Answer>(), second = std::make_shared<Answer>();
  ASSERT_TRUE(f.engine->submit(endless(), first));
  first->wait();
  EXPECT_EQ(first->reason, FinishReason::kError);
  EXPECT_EQ(first->report.error.message, "no luck");
  broken = false;
  Request r = endless();
  r.max_tokens = 3;
  ASSERT_TRUE(f.engine->submit(r, second));
  second->wait();
  EXPECT_EQ(second->reason, FinishReason::kLength);
  EXPECT_EQ(second->tokens.size(), 3u);
}

TEST(EngineThreads, ManySubmitAndCancelAtOnce) {
  FakeEngine f;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 rng(t);
      for (int i = 0; i < 60; ++i) {
        auto answer = std::make_shared<Answer>();
        Request r = endless(1 + rng() % 100);
        r.max_tokens = static_cast<int64_t>(rng() % 30);
        const Result<RequestId> id = f.engine->submit(r, answer);
        ASSERT_TRUE(id);
        if (rng() % 3 == 0) f.engine->cancel(*id);
        const EngineStats s = f.engine->stats();
        ASSERT_EQ(s.waiting > 0, s.waiting_tokens > 0) << s.waiting;  // nothing is preempted here
        if (rng() % 2 == 0) answer->wait();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (EngineStats s = f.engine->stats(); s.running + s.waiting > 0; s = f.engine->stats()) std::this_thread::yield();
  const EngineStats s = f.engine->stats();
  EXPECT_EQ(s.kv_blocks_used, 0);
  EXPECT_EQ(s.waiting_tokens, 0);
}

}  // namespace
}  // namespace toccata
