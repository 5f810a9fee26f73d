// The engine's core on a fake model, driven step by step, and random requests for it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <random>
#include <utility>

#include "engine/core.h"
#include "support/answers.h"
#include "support/fake_model.h"

namespace toccata::test {

struct Rig {
  double time = 0;
  FakeRunner* runner = nullptr;
  std::unique_ptr<engine::Core> core;

  Rig(int64_t blocks, sched::Options options, bool prefix_caching = true, int64_t context = 0,
      const std::function<void(engine::Parts&)>& change = {}) {
    options.max_rows = options.max_sequences + options.max_draft_rows + 512;
    auto fake = std::make_unique<FakeRunner>(
        options.max_rows, options.max_sequences + options.max_draft_rows + options.max_prompt_logit_rows);
    runner = fake.get();
    engine::Parts parts;
    parts.pool = std::make_unique<kv::Pool>(*kv::Pool::create(runner->kv_layout(), blocks));
    parts.runner = std::move(fake);
    parts.tokenizer = std::make_unique<FakeTokenizer>();
    const int64_t most = context > 0 ? context : blocks * kernels::kKvBlock;
    parts.info = {"fake", "fake", most, 48, most, kv::kMostPositions, {}};
    parts.scheduler = options;
    parts.prefix_caching = prefix_caching;
    parts.clock = [this] { return time += 1e-3; };
    if (change) change(parts);
    core = std::move(*engine::Core::create(std::move(parts)));
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

inline Request random_request(std::mt19937& rng, int longest_prompt, int longest_answer) {
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
  if (rng() % 3 == 0) {
    KvPolicy rule;
    rule.name = std::array{"streaming", "h2o", "snapkv"}[rng() % 3];
    rule.sinks = static_cast<int64_t>(rng() % 6);
    rule.budget = rule.sinks + 1 + static_cast<int64_t>(rng() % 100);
    rule.interval = int64_t{1} << rng() % 6;
    if (rule.name != "streaming") {
      rule.recent = 1 + static_cast<int64_t>(rng() % static_cast<unsigned>(rule.budget - rule.sinks));
    }
    r.kv = rule;
    if (r.max_tokens < 0) r.max_tokens = 3 * longest_answer;  // it may never end
  }
  return r;
}

}  // namespace toccata::test
