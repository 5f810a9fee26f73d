#include "spec/text_drafters.h"

#include <gtest/gtest.h>

#include <random>

namespace toccata::spec {
namespace {

using Tokens = std::vector<int32_t>;

Draft draft_of(Drafter& drafter, const Tokens& text, int64_t most, uint64_t id = 1, std::string_view salt = "") {
  Draft draft;
  draft.add(99, 0);  // of an earlier step
  Job job{id, text, salt, most, &draft};
  drafter.propose(std::span(&job, 1));
  EXPECT_EQ(draft.tokens.size(), draft.grades.size());
  EXPECT_LE(std::ssize(draft.tokens), most);
  for (const uint8_t g : draft.grades) EXPECT_LT(g, kGrades);
  return draft;
}

TEST(Ngram, TheLongestMatchWinsOfEqualOnesTheLatest) {
  auto ngram = make_ngram();
  EXPECT_EQ(draft_of(*ngram, {1, 2, 3, 4, 50, 60, 9, 3, 4, 70, 80, 1, 2, 3, 4}, 2).tokens, (Tokens{50, 60}));
  EXPECT_EQ(draft_of(*ngram, {5, 3, 4, 50, 6, 3, 4, 70, 7, 3, 4}, 1, 2).tokens, (Tokens{70}));
  EXPECT_TRUE(draft_of(*ngram, {1, 2, 3}, 4, 3).tokens.empty());
  EXPECT_TRUE(draft_of(*ngram, {1}, 4, 4).tokens.empty());
}

TEST(Ngram, APeriodGoesOn) {
  auto ngram = make_ngram();
  EXPECT_EQ(draft_of(*ngram, {1, 2, 3, 1, 2, 3, 1, 2}, 8).tokens, (Tokens{3, 1, 2, 3, 1, 2, 3, 1}));
}

TEST(Drafters, TheIndexFollowsTheTextWhetherItIsAskedOrNot) {
  std::mt19937 rng(3);
  for (const bool suffix : {false, true}) {
    auto asked = suffix ? make_suffix(false) : make_ngram();
    Tokens text;
    for (uint64_t i = 0; i < 300; ++i) {
      for (size_t n = rng() % 4; n > 0; --n) text.push_back(static_cast<int32_t>(rng() % 5));
      text.push_back(static_cast<int32_t>(rng() % 5));
      auto anew = suffix ? make_suffix(false) : make_ngram();
      EXPECT_EQ(draft_of(*asked, text, 6).tokens, draft_of(*anew, text, 6).tokens);
    }
  }
}

TEST(Suffix, TheMajorityWinsAndDoubtEndsTheDraft) {
  auto suffix = make_suffix(false);
  const Tokens text = {1, 2, 3, 4, 7, 8, 1, 2, 3, 4, 7, 9, 1, 2, 3, 4, 6, 5, 1, 2, 3, 4};
  const Draft draft = draft_of(*suffix, text, 8);
  ASSERT_GE(draft.tokens.size(), 1u);
  EXPECT_EQ(draft.tokens[0], 7);       // twice; 6 once and later
  EXPECT_LE(draft.tokens.size(), 2u);  // then 8 or 9
  Tokens sure;
  for (int i = 0; i < 5; ++i) {
    for (int32_t t = 1; t <= 20; ++t) sure.push_back(t);
  }
  EXPECT_EQ(draft_of(*suffix, sure, 8, 2).tokens, (Tokens{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Suffix, EarlierAnswersCountWithinOneSaltOnly) {
  auto shared = make_suffix(true);
  Tokens earlier = {40, 41, 1, 2, 3, 4, 50, 51, 52};
  shared->finish(1, earlier, 2, "a");
  EXPECT_EQ(draft_of(*shared, {1, 2, 3, 4}, 3, 2, "a").tokens, (Tokens{50, 51, 52}));
  EXPECT_TRUE(draft_of(*shared, {1, 2, 3, 4}, 3, 3, "b").tokens.empty());
  EXPECT_TRUE(draft_of(*shared, {9, 40, 41}, 3, 4, "a").tokens.empty());     // a prompt is not an answer
  EXPECT_TRUE(draft_of(*shared, {7, 7, 51, 52}, 3, 5, "a").tokens.empty());  // nothing follows the end of an answer
  auto own = make_suffix(false);
  own->finish(1, earlier, 2, "a");
  EXPECT_TRUE(draft_of(*own, {1, 2, 3, 4}, 3, 2, "a").tokens.empty());
  // Salts used long ago make room.
  for (int i = 0; i < 40; ++i) shared->finish(10, earlier, 2, "x" + std::to_string(i));
  EXPECT_TRUE(draft_of(*shared, {1, 2, 3, 4}, 3, 6, "a").tokens.empty());
  EXPECT_FALSE(draft_of(*shared, {1, 2, 3, 4}, 3, 7, "x39").tokens.empty());
}

TEST(Params, MethodsHaveNames) {
  for (const SpecMethod m :
       {SpecMethod::kOff, SpecMethod::kNgram, SpecMethod::kSuffix, SpecMethod::kModel, SpecMethod::kAuto}) {
    EXPECT_EQ(spec_method(spec_method_name(m)), m);
  }
  EXPECT_FALSE(spec_method("Ngram"));
  EXPECT_TRUE((SpeculationParams{SpecMethod::kNgram, 32}).validate());
  EXPECT_FALSE((SpeculationParams{SpecMethod::kNgram, 33}).validate());
  EXPECT_TRUE((SpeculationParams{SpecMethod::kNgram, 0}).validate());
  EXPECT_FALSE((SpeculationParams{SpecMethod::kNgram, -1}).validate());
}

}  // namespace
}  // namespace toccata::spec
