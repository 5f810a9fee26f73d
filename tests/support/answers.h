// A listener that keeps the whole answer, checks the order of the calls, and can be waited for.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "toccata/request.h"

namespace toccata::test {

class Answer final : public RequestListener {
 public:
  std::vector<TokenOutput> tokens, prompt_scores;
  std::string text;
  int finished = 0;
  FinishReason reason = FinishReason::kError;
  RequestReport report;
  std::function<void(size_t)> on_token;  // called with the number of tokens so far

  void on_prompt_logprobs(std::vector<TokenOutput> scores) override {
    EXPECT_TRUE(tokens.empty() && prompt_scores.empty() && finished == 0);
    prompt_scores = std::move(scores);
  }
  void on_tokens(std::vector<TokenOutput> more, std::string piece) override {
    EXPECT_EQ(finished, 0);
    tokens.insert(tokens.end(), more.begin(), more.end());
    text += piece;
    if (on_token) on_token(tokens.size());
  }
  void on_finish(FinishReason why, const RequestReport& what) override {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(finished++, 0) << "on_finish must come once";
    reason = why;
    report = what;
    done_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return finished > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
};

inline uint32_t bits(float x) {
  uint32_t u;
  std::memcpy(&u, &x, sizeof(u));
  return u;
}

inline bool same_bits(const TokenOutput& a, const TokenOutput& b) {
  if (a.token != b.token || bits(a.logprob) != bits(b.logprob) || a.top.size() != b.top.size()) return false;
  for (size_t i = 0; i < a.top.size(); ++i) {
    if (a.top[i].token != b.top[i].token || bits(a.top[i].logprob) != bits(b.top[i].logprob)) return false;
  }
  return true;
}

// The same answer, bit for bit; `cut`: got may have been ended early.
inline void expect_same(const Answer& got, const Answer& want, const std::string& what, bool cut = false) {
  if (!cut) {
    ASSERT_EQ(got.tokens.size(), want.tokens.size())
        << what << ", reasons " << static_cast<int>(got.reason) << " and " << static_cast<int>(want.reason) << ' '
        << got.report.error.message;
    ASSERT_EQ(got.text, want.text) << what;
    ASSERT_EQ(got.reason, want.reason) << what;
    ASSERT_EQ(got.prompt_scores.size(), want.prompt_scores.size()) << what;
  }
  ASSERT_LE(got.tokens.size(), want.tokens.size()) << what;
  for (size_t i = 0; i < got.tokens.size(); ++i) {
    ASSERT_TRUE(same_bits(got.tokens[i], want.tokens[i])) << what << ", token " << i;
  }
  for (size_t i = 0; i < got.prompt_scores.size(); ++i) {
    ASSERT_TRUE(same_bits(got.prompt_scores[i], want.prompt_scores[i])) << what << ", prompt token " << i;
  }
}

}  // namespace toccata::test
