// The engine step by step on a model that notices every misplaced token: random requests, cancellations, preemptions,
// stops and faults, with the invariants checked after each step, and each answer compared with the request alone.
#include "engine/core.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "support/answers.h"
#include "support/fake_model.h"

namespace toccata {
namespace {

using engine::Core;
using test::Answer;

struct Rig {
  double time = 0;
  test::FakeRunner* runner = nullptr;
  std::unique_ptr<Core> core;

  Rig(int64_t blocks, sched::Options options, bool prefix_caching = true, int64_t context = 0) {
    options.max_rows = options.max_sequences + 512;
    auto fake =
        std::make_unique<test::FakeRunner>(options.max_rows, options.max_sequences + options.max_prompt_logit_rows);
    runner = fake.get();
    engine::Parts parts;
    parts.pool = std::make_unique<kv::Pool>(*kv::Pool::create(runner->kv_layout(), blocks));
    parts.runner = std::move(fake);
    parts.tokenizer = std::make_unique<test::FakeTokenizer>();
    parts.info = {"fake", "fake", context > 0 ? context : blocks * kernels::kKvBlock, 48};
    parts.scheduler = options;
    parts.prefix_caching = prefix_caching;
    parts.clock = [this] { return time += 1e-3; };
    core = std::move(*Core::create(std::move(parts)));
  }

  void finish_all(int limit = 100000) {
    for (int i = 0; !core->idle(); ++i) {
      ASSERT_LT(i, limit) << "the engine makes no progress";
      core->step();
      ASSERT_EQ(core->check_invariants(), "");
    }
    EngineStats s;
    core->fill(s);
    EXPECT_EQ(s.running, 0);
    EXPECT_EQ(s.waiting, 0);
    EXPECT_EQ(s.kv_blocks_used, 0);
  }
};

Request random_request(std::mt19937& rng, int longest_prompt, int longest_answer) {
  Request r;
  // Few beginnings, so that prompts share prefixes of several blocks, and lengths around the edges of blocks.
  const auto family = static_cast<unsigned>(rng() % 3);
  const int n = 1 + static_cast<int>(rng() % 4 == 0 ? 32 * (1 + rng() % 4) + rng() % 3 - 1
                                                    : rng() % static_cast<unsigned>(longest_prompt));
  std::mt19937 words(family);
  const int own = static_cast<int>(rng() % 2) * static_cast<int>(rng() % static_cast<unsigned>(n));
  for (int i = 0; i < n; ++i) r.prompt.push_back(static_cast<int32_t>((i < n - own ? words() : rng()) % 48));
  r.max_tokens = rng() % 5 == 0 ? -1 : static_cast<int64_t>(rng() % static_cast<unsigned>(longest_answer));
  r.sampling.temperature = rng() % 3 == 0 ? 0.0f : 1.0f;
  r.sampling.seed = rng() % 4;
  r.sampling.logprobs = rng() % 3 == 0 ? static_cast<int>(rng() % 4) : -1;
  if (rng() % 4 == 0) r.sampling.repetition_penalty = 1.3f;
  if (rng() % 4 == 0) r.prompt_logprobs = static_cast<int>(rng() % 3);
  if (rng() % 4 == 0) r.stop = {std::string(1, static_cast<char>('a' + rng() % 26)), "qu"};
  r.ignore_eos = rng() % 3 == 0;
  if (r.ignore_eos && r.max_tokens < 0) r.max_tokens = longest_answer;
  r.priority = static_cast<int>(rng() % 3);
  r.cache_salt = rng() % 5 == 0 ? "other" : "";
  return r;
}

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
void fuzz(unsigned seed, uint64_t& preemptions, uint64_t& hits) {
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
}

TEST(EngineCore, SurvivesAnythingAtAnyStep) {
  uint64_t preemptions = 0, hits = 0;
  const char* rounds = std::getenv("TOCCATA_FUZZ_ROUNDS");
  for (unsigned seed = 0; seed < (rounds ? std::strtoul(rounds, nullptr, 10) : 60); ++seed) {
    fuzz(seed, preemptions, hits);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(preemptions, 100u);  // or the runs do not test what they are for
  EXPECT_GT(hits, 1000u);
}

}  // namespace
}  // namespace toccata
