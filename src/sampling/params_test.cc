#include "toccata/sampling_params.h"

#include <cmath>

#include <gtest/gtest.h>

namespace toccata {
namespace {

template <class Change>
std::string refusal(Change change) {
  SamplingParams p;
  change(p);
  const Status s = p.validate(100);
  if (s) return "";
  EXPECT_EQ(s.error().code, ErrorCode::kInvalidArgument);
  return s.error().message;
}

TEST(SamplingParams, DefaultsAndLimitsAreValid) {
  EXPECT_EQ(refusal([](SamplingParams&) {}), "");
  EXPECT_EQ(refusal([](SamplingParams& p) { p.temperature = 0; }), "");
  EXPECT_EQ(refusal([](SamplingParams& p) { p.top_p = 1; }), "");
  EXPECT_EQ(refusal([](SamplingParams& p) { p.top_k = -5; }), "");
  EXPECT_EQ(refusal([](SamplingParams& p) { p.logprobs = 100; }), "");
  EXPECT_EQ(refusal([](SamplingParams& p) { p.logit_bias = {{99, -INFINITY}, {0, 3.0f}}; }), "");
}

TEST(SamplingParams, EachFaultNamesItsParameter) {
  const auto names = [](const std::string& message, const char* name) { return message.rfind(name, 0) == 0; };
  for (const float bad : {-0.1f, 101.0f, INFINITY, NAN}) {
    EXPECT_TRUE(names(refusal([&](SamplingParams& p) { p.temperature = bad; }), "temperature must be 0 to 100"));
    EXPECT_TRUE(names(refusal([&](SamplingParams& p) { p.top_p = bad; }), "top_p"));
    EXPECT_TRUE(names(refusal([&](SamplingParams& p) { p.min_p = bad; }), "min_p"));
    EXPECT_TRUE(names(refusal([&](SamplingParams& p) { p.typical_p = bad; }), "typical_p"));
    EXPECT_TRUE(names(refusal([&](SamplingParams& p) { p.repetition_penalty = bad; }), "repetition_penalty"));
  }
  EXPECT_TRUE(names(refusal([](SamplingParams& p) { p.top_p = 0; }), "top_p"));
  EXPECT_TRUE(names(refusal([](SamplingParams& p) { p.presence_penalty = NAN; }), "presence_penalty"));
  EXPECT_TRUE(names(refusal([](SamplingParams& p) { p.frequency_penalty = -101; }), "frequency_penalty"));
  EXPECT_TRUE(names(refusal([](SamplingParams& p) { p.penalty_last_n = -2; }), "penalty_last_n"));
  EXPECT_TRUE(names(refusal([](SamplingParams& p) { p.logprobs = 101; }), "logprobs"));
  EXPECT_TRUE(names(refusal([](SamplingParams& p) { p.logit_bias = {{100, 0.0f}}; }), "a token of logit_bias"));
  EXPECT_TRUE(names(refusal([](SamplingParams& p) { p.logit_bias = {{-1, 0.0f}}; }), "a token of logit_bias"));
  EXPECT_TRUE(names(refusal([](SamplingParams& p) { p.logit_bias = {{1, INFINITY}}; }), "a bias of logit_bias"));
  EXPECT_TRUE(names(refusal([](SamplingParams& p) { p.logit_bias = {{1, NAN}}; }), "a bias of logit_bias"));
}

}  // namespace
}  // namespace toccata
