// Verification by rejection inside the engine: answers have the distribution that they have without speculation,
// whoever drafts and however many tokens, while a seed's answer may be another one.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/testing.h"
#include "support/engine_rig.h"
#include "support/fake_draft.h"

namespace toccata {
namespace {

using test::Answer;
using test::Rig;
using Text = std::vector<int32_t>;
using Counts = std::map<Text, int>;

constexpr float kHabit = 3.0f;
constexpr int kAnswers = test::kSanitized ? 2'000 : 30'000;

struct Case {
  std::string name;
  SpeculationParams speculation;
  float draft_habit = 0.0f;  // 0: no draft model
  float top_p = 1.0f;
  float penalty = 0.0f;
};

struct Outcome {
  Counts counts;
  SpeculationStats drafts;
};

// Answers of four tokens to one prompt, which repeats itself, each with a seed of its own.
Outcome answers(const Case& tested, unsigned first_seed) {
  Rig rig(64, {.max_sequences = 8, .max_draft_rows = 32}, true, 0, [&](engine::Parts& parts) {
    parts.drafters = spec::text_drafters(false);
    if (tested.draft_habit > 0) parts.drafters.model = test::fake_draft(tested.draft_habit, 64, 8);
    parts.speculation = tested.speculation;
  });
  rig.runner->habit = kHabit;
  // Rows cost time, so that the length of a draft is weighed.
  rig.runner->before_forward = [&rig](const model::Step& step) {
    rig.time += 1.5e-3 * static_cast<double>(step.rows());
    return Status();
  };
  Request r;
  for (int32_t t : {2, 13, 20, 7, 38, 1, 9, 2, 13, 20, 7, 38, 1, 9, 2, 13}) r.prompt.push_back(t);
  r.max_tokens = 4;
  r.ignore_eos = true;
  r.sampling.temperature = 1.0f;
  r.sampling.top_k = 4;
  r.sampling.min_p = 0.0f;
  r.sampling.top_p = tested.top_p;
  r.sampling.frequency_penalty = tested.penalty;
  r.sampling.logprobs = 0;
  Outcome out;
  std::vector<std::shared_ptr<Answer>> running;
  for (unsigned i = 0; i < kAnswers; i += 8) {
    running.clear();
    for (unsigned k = 0; k < 8; ++k) {
      r.sampling.seed = first_seed + i + k;
      running.push_back(std::make_shared<Answer>());
      rig.core->add(1 + i + k, r, running.back(), rig.core->now());
    }
    while (!rig.core->idle()) rig.core->step();
    for (const auto& a : running) {
      Text text;
      for (const TokenOutput& t : a->tokens) {
        EXPECT_LE(t.logprob, 0.0f);
        text.push_back(t.token);
      }
      EXPECT_EQ(text.size(), 4u);
      ++out.counts[text];
    }
  }
  EngineStats stats;
  rig.core->fill(stats);
  out.drafts = stats.speculation;
  return out;
}

// Standard deviations that the two-sample chi-square statistic is off its mean; rare answers are one cell.
double deviations(const Counts& a, const Counts& b) {
  std::map<Text, std::pair<double, double>> cells;
  for (const auto& [text, n] : a) cells[text].first += n;
  for (const auto& [text, n] : b) cells[text].second += n;
  double statistic = 0, freedom = -1, rare_a = 0, rare_b = 0;
  const auto add = [&](double x, double y) {
    if (x + y == 0) return;
    statistic += (x - y) * (x - y) / (x + y);
    ++freedom;
  };
  for (const auto& [text, n] : cells) {
    if (n.first + n.second >= 20) {
      add(n.first, n.second);
    } else {
      rare_a += n.first;
      rare_b += n.second;
    }
  }
  add(rare_a, rare_b);
  EXPECT_GT(freedom, test::kSanitized ? 5 : 20) << "too few different answers to tell distributions apart";
  return (statistic - freedom) / std::sqrt(2 * freedom);
}

class Rejection : public testing::TestWithParam<Case> {};

TEST_P(Rejection, AnswersHaveTheDistributionOfThePlainOnes) {
  Case plain = GetParam();
  plain.speculation.method = SpecMethod::kOff;
  const Outcome want = answers(plain, 1'000'000), got = answers(GetParam(), 0);
  EXPECT_LT(deviations(got.counts, want.counts), 4.0);
  EXPECT_GT(got.drafts.draft_tokens, kAnswers / 4u);
  EXPECT_GT(got.drafts.accepted_tokens * 20, got.drafts.draft_tokens);
  EXPECT_LT(got.drafts.accepted_tokens, got.drafts.draft_tokens);
  // Not the seeds' own answers, which is what coupled verification keeps.
  EXPECT_NE(answers(plain, 0).counts, got.counts);
}

constexpr SpeculationParams params(SpecMethod method, int32_t tokens) {
  return {method, tokens, SpecVerify::kRejection};
}

INSTANTIATE_TEST_SUITE_P(Drafters, Rejection,
                         testing::Values(Case{"ngram", params(SpecMethod::kNgram, 3)},
                                         Case{"model_near", params(SpecMethod::kModel, 3), 1.5f},
                                         Case{"model_far", params(SpecMethod::kModel, 2), 0.5f},
                                         Case{"top_p_and_penalty", params(SpecMethod::kModel, 3), 1.5f, 0.8f, 0.7f},
                                         Case{"model_automatic", params(SpecMethod::kModel, 0), 1.5f},
                                         Case{"automatic", params(SpecMethod::kAuto, 0), 1.5f}),
                         [](const auto& tested) { return tested.param.name; });

// Without chance both rules are one; and without a draft nothing is verified.
TEST(RejectionRule, KeepsGreedyAnswersAndThoseWithoutDrafts) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 rng(seed);
    Request r = test::random_request(rng, 80, 50);
    r.kv.reset();
    const bool drafted = seed % 2 == 0;
    r.sampling.temperature = drafted ? 0.0f : 1.0f;
    std::vector<std::shared_ptr<Answer>> both;
    for (const bool with : {false, true}) {
      Rig rig(100, {.max_sequences = 4, .max_draft_rows = 16}, true, 0, [&](engine::Parts& parts) {
        parts.drafters = spec::text_drafters(false);
        parts.drafters.model = test::fake_draft(3.0f, 64, 8);
        if (with) parts.speculation = params(drafted ? SpecMethod::kModel : SpecMethod::kOff, 4);
      });
      rig.runner->habit = kHabit;
      both.push_back(std::make_shared<Answer>());
      rig.core->add(1, r, both.back(), rig.core->now());
      rig.finish_all();
    }
    ASSERT_NO_FATAL_FAILURE(test::expect_same(*both[1], *both[0], "seed " + std::to_string(seed)));
  }
}

}  // namespace
}  // namespace toccata
