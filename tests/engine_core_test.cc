// The engine step by step on a model that notices every misplaced token: random requests, cancellations, preemptions,
// stops and faults, with the invariants checked after each step, and each answer compared with the request alone.
#include "engine/core.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "support/engine_rig.h"

namespace toccata {
namespace {

using test::Answer;
using test::random_request;
using test::Rig;

std::shared_ptr<Answer> alone(const Request& request, int64_t context) {
  Rig rig(200, {.max_sequences = 1, .chunk_size = 512}, false, context);
  auto answer = std::make_shared<Answer>();
  rig.core->add(1, request, answer, rig.core->now());
  rig.finish_all();
  return answer;
}

sched::Options random_options(std::mt19937& rng) {
  sched::Options o;
  o.max_sequences = 1 + static_cast<int64_t>(rng() % 12);
  o.chunked = rng() % 5 != 0;
  o.chunk_size = rng() % 3 == 0 ? 0 : 1 + static_cast<int64_t>(rng() % 100);
  o.max_prompt_logit_rows = 1 + static_cast<int64_t>(rng() % 40);
  o.itl_target = rng() % 2 == 0 ? 0.0 : 0.01;
  o.ageing_seconds = 0.05;
  return o;
}

struct Live {
  Request request;
  std::shared_ptr<Answer> answer;
  bool cut = false;
};

// One run: at each step a few random things happen.
void fuzz(unsigned seed, uint64_t& preemptions, uint64_t& hits, uint64_t& evicted) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 rng(seed);
  const int64_t blocks = 6 + static_cast<int64_t>(rng() % 3 == 0 ? 40 : rng() % 10);
  Rig rig(blocks, random_options(rng), rng() % 6 != 0);
  const int64_t context = rig.core->info().context;
  std::vector<Live> all;
  for (int step = 0; step < 150; ++step) {
    while (rng() % 3 == 0 && step < 110) {
      Live live{random_request(rng, 150, 60), std::make_shared<Answer>(), false};
      if (rng() % 12 == 0) {
        live.request.timeout_seconds = 0.001 * static_cast<double>(1 + rng() % 80);
        live.cut = true;
      }
      if (!rig.core->check(live.request)) continue;
      all.push_back(live);
      rig.core->add(all.size(), live.request, live.answer, rig.core->now());
    }
    if (rng() % 6 == 0 && !all.empty()) {
      const size_t victim = rng() % all.size();
      rig.core->cancel(victim + 1);
      if (all[victim].answer->reason == FinishReason::kCancelled) all[victim].cut = true;
    }
    rig.core->step();
    const std::string broken = rig.core->check_invariants();
    ASSERT_EQ(broken, "") << "step " << step;
  }
  rig.finish_all();
  for (size_t i = 0; i < all.size(); ++i) {
    const Live& l = all[i];
    ASSERT_EQ(l.answer->finished, 1);
    const bool cut = l.cut && l.answer->reason != FinishReason::kStop && l.answer->reason != FinishReason::kLength;
    test::expect_same(*l.answer, *alone(l.request, context), "request " + std::to_string(i + 1), cut);
    if (testing::Test::HasFatalFailure()) return;
    EXPECT_EQ(l.answer->report.generated_tokens, std::ssize(l.answer->tokens));
  }
  EngineStats s;
  rig.core->fill(s);
  preemptions += s.preemptions;
  hits += s.prefix_hits;
  evicted += s.kv_evicted_tokens;
}

TEST(EngineCore, SurvivesAnythingAtAnyStep) {
  uint64_t preemptions = 0, hits = 0, evicted = 0;
  const char* rounds = std::getenv("TOCCATA_FUZZ_ROUNDS");
  for (unsigned seed = 0; seed < (rounds ? std::strtoul(rounds, nullptr, 10) : 60); ++seed) {
    fuzz(seed, preemptions, hits, evicted);
    if (HasFatalFailure()) return;
  }
  // Or the runs do not test what they are for. How many there are depends on the times that steps take.
  EXPECT_GT(preemptions, 30u);
  EXPECT_GT(hits, 1000u);
  EXPECT_GT(evicted, 1000u);
}

Request streaming_request(int64_t prompt, int64_t answer, int64_t budget) {
  Request r;
  for (int64_t i = 0; i < prompt; ++i) r.prompt.push_back(static_cast<int32_t>(3 + i * 7 % 40));
  r.max_tokens = answer;
  r.ignore_eos = true;
  r.sampling.temperature = 1.0f;
  r.kv = KvPolicy();
  r.kv->name = "streaming";
  r.kv->budget = budget;
  return r;
}

// A pool with no block to spare: the stream takes back what it had published, and goes on far past the context.
TEST(EngineCore, AStreamGoesOnInThePoolsLastBlock) {
  const int64_t blocks = kv::make_plan(*streaming_request(1, 1, 100).kv, {})->blocks(1 << 20);
  Rig rig(blocks, {.max_sequences = 2, .chunk_size = 64});
  auto answer = std::make_shared<Answer>();
  const Request request = streaming_request(200, 3000, 100);
  ASSERT_TRUE(rig.core->check(request));
  rig.core->add(1, request, answer, rig.core->now());
  rig.finish_all();
  EXPECT_EQ(answer->reason, FinishReason::kLength);
  EXPECT_EQ(answer->tokens.size(), 3000u);
  EXPECT_EQ(answer->report.preemptions, 0);
  EXPECT_EQ(answer->report.kv_tokens, 100);
  EXPECT_EQ(answer->report.kv_evicted_tokens, 200 + 3000 - 1 - 100);
  EXPECT_EQ(answer->report.kv_bytes, static_cast<uint64_t>(blocks) * 32 * rig.runner->kv_layout().bytes_per_token());
}

TEST(EngineCore, PrefixesAreSharedUpToTheBudgetOnly) {
  Rig rig(64, {.max_sequences = 4, .chunk_size = 64});  // what a step overwrites itself is not shared
  const auto run = [&](RequestId id, const Request& r) {
    auto answer = std::make_shared<Answer>();
    rig.core->add(id, r, answer, rig.core->now());
    rig.finish_all();
    return answer;
  };
  Request full = streaming_request(300, 4, 100);
  full.kv.reset();
  const auto first = run(1, streaming_request(300, 4, 100));
  EXPECT_EQ(first->report.cached_tokens, 0);
  EXPECT_EQ(run(2, full)->report.cached_tokens, 96);  // three blocks before the first eviction
  const auto again = run(3, streaming_request(300, 4, 100));
  EXPECT_EQ(again->report.cached_tokens, 96);
  test::expect_same(*again, *first, "after a hit");
  EXPECT_EQ(run(4, full)->report.cached_tokens, 299 / 32 * 32);
}

TEST(EngineCore, ABadPolicyIsRefusedInOneSentence) {
  Rig rig(8, {.max_sequences = 4});
  const auto fault = [&](int64_t budget, const char* name = "streaming") {
    Request r = streaming_request(10, 10, budget);
    r.kv->name = name;
    const Status s = rig.core->check(r);
    return s ? "" : s.error().message;
  };
  EXPECT_EQ(fault(100), "");
  EXPECT_NE(fault(1000).find("8"), std::string::npos);
  EXPECT_NE(fault(3).find("sinks"), std::string::npos);
  EXPECT_NE(fault(0).find("budget"), std::string::npos);
  EXPECT_NE(fault(100, "best").find("streaming"), std::string::npos);
  Request full = streaming_request(300, 4, 100);
  EXPECT_TRUE(rig.core->check(full));
  EXPECT_EQ(rig.core->context_of(full), kv::kMostPositions);
  full.kv.reset();
  EXPECT_FALSE(rig.core->check(full));  // without a policy the context is the pool's
  EXPECT_EQ(rig.core->context_of(full), 256);
}

}  // namespace
}  // namespace toccata
