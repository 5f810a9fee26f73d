#include "spec/rejection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/rng.h"
#include "sampling/testing.h"

namespace toccata::spec {
namespace {

constexpr int32_t kVocab = 6;
constexpr int kSamples = 100'000;
using Text = std::vector<int32_t>;

using test::plain_sampling;

// A tiny model: logits that are a function of the two latest tokens.
class Toy {
 public:
  Toy(uint64_t seed, double spread, SamplingParams params) : seed_(seed), spread_(spread), params_(std::move(params)) {}
  std::map<int32_t, float> fixed;  // logits that are the same behind every text

  std::vector<float> logits(const Text& text) const {
    uint64_t state = 7;
    for (size_t i = text.size() - std::min<size_t>(2, text.size()); i < text.size(); ++i) {
      state = state * 31 + static_cast<uint64_t>(text[i]) + 1;
    }
    std::vector<float> row;
    for (int32_t t = 0; t < kVocab; ++t) {
      const double u = rng::uniform(seed_, state, rng::Purpose::kTest, static_cast<uint32_t>(t));
      row.push_back(fixed.contains(t) ? fixed.at(t) : static_cast<float>(spread_ * (u - 0.5)));
    }
    return row;
  }
  const Distribution& next(const Text& text) const {
    const auto found = known_.find(text);
    if (found != known_.end()) return found->second;
    SamplerScratch scratch;
    const Sampler sampler(params_, kVocab);
    return known_.emplace(text, Distribution::of(sampler, logits(text), text, std::ssize(text), scratch)).first->second;
  }

 private:
  uint64_t seed_;
  double spread_;
  SamplingParams params_;
  mutable std::map<Text, Distribution> known_;
};

// Tokens drafted behind `text`, `chance` giving fresh random numbers.
using Chance = std::function<double()>;
using Drafting = std::function<std::vector<DraftNode>(const Text& text, const Chance& chance)>;

// `length` tokens behind an empty text, in as many rounds as that takes.
Text generate(const Toy& target, const Drafting& drafting, uint64_t seed, size_t length) {
  Text text;
  std::vector<int> kept;
  uint32_t drawn = 0;
  const Chance chance = [&] { return rng::uniform(seed, 0, rng::Purpose::kDraft, drawn++); };
  while (text.size() < length) {
    const std::vector<DraftNode> draft = drafting(text, chance);
    Text path = text;
    const auto p = [&](int node) {
      if (node >= 0) path.push_back(draft[static_cast<size_t>(node)].proposal.token);
      return target.next(path);
    };
    const int32_t last = verify_draft(draft, p, seed, std::ssize(text), kept);
    for (const int node : kept) text.push_back(draft[static_cast<size_t>(node)].proposal.token);
    EXPECT_EQ(text, path);
    text.push_back(last);
  }
  text.resize(length);
  return text;
}

// The probability of every text of `length` tokens, by the chain rule.
void exact(const Toy& target, size_t length, double p, Text& text, std::map<Text, double>& all) {
  if (text.size() == length) {
    all[text] = p;
    return;
  }
  const Distribution next = target.next(text);
  for (const auto& [token, q] : next.entries()) {
    text.push_back(token);
    exact(target, length, p * q, text, all);
    text.pop_back();
  }
}

// Pearson's statistic of kSamples joint draws; texts expected fewer than 8 times are pooled. It has mean `df` and
// variance 2 df if the distribution is right; 5 sigma above is a chance of about 1e-6, and the seeds are fixed.
void expect_lossless(const Toy& target, const Drafting& drafting) {
  for (const size_t length : {size_t{2}, size_t{3}}) {
    std::map<Text, double> expected;
    Text text;
    exact(target, length, 1.0, text, expected);
    std::map<Text, int> count;
    for (int i = 0; i < kSamples; ++i) ++count[generate(target, drafting, static_cast<uint64_t>(i) + 1, length)];
    for (const auto& [drawn, n] : count) EXPECT_TRUE(expected.contains(drawn)) << n << " times what is impossible";
    double statistic = 0, pooled = 0, pooled_expected = 0;
    int df = -1;
    const auto add = [&](double seen, double wanted) {
      statistic += (seen - wanted) * (seen - wanted) / wanted;
      ++df;
    };
    for (const auto& [drawn, p] : expected) {
      if (p * kSamples >= 8) {
        add(count[drawn], p * kSamples);
      } else {
        pooled += count[drawn];
        pooled_expected += p * kSamples;
      }
    }
    if (pooled_expected >= 8) add(pooled, pooled_expected);
    EXPECT_LT(statistic, df + 5 * std::sqrt(2.0 * df) + 1e-9) << "of " << length << " tokens, df " << df;
  }
}

// A chain of `k` tokens, each drawn from what `drafter` says behind the ones before.
Drafting chain(const Toy& drafter, int k) {
  return [&drafter, k](Text text, const Chance& chance) {
    std::vector<DraftNode> draft;
    for (int i = 0; i < k; ++i) {
      const Distribution& q = drafter.next(text);
      text.push_back(q.draw(chance()));
      draft.push_back({{text.back(), &q}, i - 1});
    }
    return draft;
  };
}

// Always the same chain, whatever the text.
Drafting certain(const Text& tokens) {
  return [tokens](const Text&, const Chance&) {
    std::vector<DraftNode> draft;
    for (size_t i = 0; i < tokens.size(); ++i) draft.push_back({{tokens[i], nullptr}, static_cast<int>(i) - 1});
    return draft;
  };
}

TEST(Rejection, DraftsLikeTheTarget) {
  const Toy target(1, 4, plain_sampling());
  expect_lossless(target, chain(target, 3));
}

TEST(Rejection, DraftsUnlikeTheTarget) {
  const Toy target(1, 4, plain_sampling()), drafter(2, 6, plain_sampling());
  for (const int k : {1, 2, 4}) expect_lossless(target, chain(drafter, k));
}

TEST(Rejection, DisjointTokens) {
  Toy target(3, 4, plain_sampling()), drafter(4, 4, plain_sampling());
  for (const int32_t t : {0, 1, 2}) target.fixed[t] = -INFINITY;
  for (const int32_t t : {3, 4, 5}) drafter.fixed[t] = -INFINITY;
  expect_lossless(target, chain(drafter, 2));
}

TEST(Rejection, OneHotTarget) {
  SamplingParams greedy = plain_sampling();
  greedy.temperature = 0;
  const Toy target(5, 4, greedy), drafter(6, 2, plain_sampling());
  expect_lossless(target, chain(drafter, 3));
}

TEST(Rejection, OneHotDrafts) {
  SamplingParams greedy = plain_sampling();
  greedy.temperature = 0;
  const Toy target(7, 3, plain_sampling()), drafter(7, 3, greedy);
  expect_lossless(target, chain(drafter, 3));
  expect_lossless(target, certain({2, 2, 5}));
}

TEST(Rejection, DraftsThatMissTokensOfTheTarget) {
  SamplingParams few = plain_sampling();
  few.top_k = 2;
  const Toy target(8, 3, plain_sampling()), drafter(9, 3, few);
  expect_lossless(target, chain(drafter, 2));
}

TEST(Rejection, TemperatureAndTopP) {
  SamplingParams p = plain_sampling(), q = plain_sampling();
  p.temperature = 0.7f;
  p.top_p = 0.9f;
  q.temperature = 1.3f;
  const Toy target(10, 5, p), drafter(10, 5, q);
  expect_lossless(target, chain(drafter, 3));
  p.top_p = 1;
  p.temperature = 1.2f;
  expect_lossless(Toy(10, 5, p), chain(drafter, 2));
}

// Here p of each row depends on the tokens drafted before it.
TEST(Rejection, PenaltiesAndBias) {
  SamplingParams p = plain_sampling();
  p.repetition_penalty = 1.5f;
  p.presence_penalty = 0.8f;
  p.frequency_penalty = 0.5f;
  p.penalty_last_n = -1;
  p.logit_bias = {{1, 1.0f}, {4, -INFINITY}};
  const Toy target(11, 3, p), drafter(11, 3, plain_sampling());
  expect_lossless(target, chain(drafter, 3));
  expect_lossless(target, certain({1, 1, 1}));
}

// Two levels of three siblings each, drawn independently.
TEST(Rejection, TreesOfIndependentSiblings) {
  const Toy target(12, 4, plain_sampling()), drafter(13, 4, plain_sampling());
  expect_lossless(target, [&](Text text, const Chance& chance) {
    std::vector<DraftNode> draft;
    const Distribution& first = drafter.next(text);
    for (int i = 0; i < 3; ++i) draft.push_back({{first.draw(chance()), &first}, -1});
    for (int parent = 0; parent < 3; ++parent) {
      Text behind = text;
      behind.push_back(draft[static_cast<size_t>(parent)].proposal.token);
      const Distribution& q = drafter.next(behind);
      for (int i = 0; i < 3; ++i) draft.push_back({{q.draw(chance()), &q}, parent});
    }
    return draft;
  });
}

// The second sibling is drawn from what the first one leaves of q.
TEST(Rejection, TreesWithoutReplacement) {
  const Toy target(14, 4, plain_sampling()), drafter(15, 4, plain_sampling());
  std::map<std::pair<Text, int32_t>, Distribution> without;
  expect_lossless(target, [&](const Text& text, const Chance& chance) {
    const Distribution& q = drafter.next(text);
    const int32_t first = q.draw(chance());
    std::vector<Candidate> rest;
    for (const auto& [token, p] : q.entries()) {
      if (token != first) rest.push_back({0, token, 0, p});
    }
    const Distribution& second = without.try_emplace({text, first}, rest).first->second;
    return std::vector<DraftNode>{{{first, &q}, -1}, {{second.draw(chance()), &second}, -1}};
  });
}

// The likeliest tokens of the drafter, a branch behind the first; siblings that no chance chose.
TEST(Rejection, TreesWithoutChance) {
  const Toy target(16, 4, plain_sampling());
  expect_lossless(target, [](const Text&, const Chance&) {
    return std::vector<DraftNode>{
        {{3, nullptr}, -1}, {{0, nullptr}, -1}, {{3, nullptr}, 0}, {{1, nullptr}, 0}, {{1, nullptr}, 1}};
  });
}

// The share of drafts that are kept is the sum of min(p, q), and the counts of a chain's first so many follow from it.
TEST(Rejection, KeepsAsManyAsTheOverlapSays) {
  const Toy target(17, 4, plain_sampling()), drafter(18, 4, plain_sampling());
  const Distribution &p = target.next({}), &q = drafter.next({});
  double overlap = 0;
  for (const auto& [token, x] : p.entries()) overlap += std::min(x, q[token]);
  int kept = 0;
  for (int i = 0; i < kSamples; ++i) {
    const auto seed = static_cast<uint64_t>(i);
    const Proposal proposal{q.draw(rng::uniform(seed, 0, rng::Purpose::kDraft)), &q};
    kept += verify(std::span(&proposal, 1), p, seed, 0).kept == 0;
  }
  EXPECT_NEAR(kept, overlap * kSamples, 5 * std::sqrt(kSamples * overlap * (1 - overlap)));
}

TEST(Rejection, EqualDistributionsAreNeverRejected) {
  const Toy target(19, 8, plain_sampling());
  const Distribution& p = target.next({});
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    const Proposal proposal{p.draw(rng::uniform(seed, 0, rng::Purpose::kDraft)), &p};
    EXPECT_EQ(verify(std::span(&proposal, 1), p, seed, 0).kept, 0);
  }
}

TEST(Rejection, DependsOnSeedAndPositionAlone) {
  const Toy target(20, 1, plain_sampling());
  const auto tokens = [&](uint64_t seed, int64_t position) {
    Text drawn;
    for (int64_t i = 0; i < 20; ++i) drawn.push_back(verify({}, target.next({}), seed, position + i).token);
    return drawn;
  };
  EXPECT_EQ(tokens(1, 0), tokens(1, 0));
  EXPECT_NE(tokens(1, 0), tokens(2, 0));
  EXPECT_NE(tokens(1, 0), tokens(1, 1));
  const Text here = tokens(1, 0), next = tokens(1, 1);
  EXPECT_TRUE(std::equal(here.begin() + 1, here.end(), next.begin()));
}

TEST(Rejection, DistributionsAreSortedAndSumToOne) {
  const std::vector<Candidate> candidates = {{0, 9, 0, 2.0}, {0, 4, 0, 1.0}, {0, 7, 0, 5.0}};
  Distribution d(candidates);
  EXPECT_EQ(d[4], 0.125);
  EXPECT_EQ(d[7], 0.625);
  EXPECT_EQ(d[9], 0.25);
  EXPECT_EQ(d[5], 0.0);
  EXPECT_EQ(d.draw(0), 4);
  EXPECT_EQ(d.draw(0.125), 7);
  EXPECT_EQ(d.draw(0.75), 9);
  EXPECT_EQ(d.draw(std::nextafter(1.0, 0.0)), 9);
  d.subtract(Distribution::certain(7));
  EXPECT_EQ(d[7], 0.0);
  EXPECT_DOUBLE_EQ(d[4], 1.0 / 3);
  d.subtract(Distribution(d));  // nothing would be left
  EXPECT_DOUBLE_EQ(d[9], 2.0 / 3);
}

}  // namespace
}  // namespace toccata::spec
