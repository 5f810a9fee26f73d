#include "sampling/stop.h"

#include <random>

#include <gtest/gtest.h>

namespace toccata {
namespace {

struct Seen {
  std::string text;
  bool stopped = false;
  bool operator==(const Seen&) const = default;
};

Seen feed(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopMatcher m(stops);
  Seen seen;
  for (const std::string& piece : pieces) {
    const StopMatcher::Output out = m.push(piece);
    seen.text += out.text;
    if (out.stopped) seen.stopped = true;
  }
  if (!seen.stopped) seen.text += m.flush();
  return seen;
}

// By definition: the first byte at which any stop string ends; of those that end there the longest.
Seen oracle(const std::vector<std::string>& stops, const std::string& text) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& s : stops) {
      if (!s.empty() && s.size() <= end && text.compare(end - s.size(), s.size(), s) == 0) {
        longest = std::max(longest, s.size());
      }
    }
    if (longest > 0) return {text.substr(0, end - longest), true};
  }
  return {text, false};
}

std::vector<std::string> split(const std::string& text, unsigned mask) {
  std::vector<std::string> pieces(1);
  for (size_t i = 0; i < text.size(); ++i) {
    pieces.back() += text[i];
    if (mask >> i & 1) pieces.emplace_back();
  }
  return pieces;
}

TEST(StopMatcher, AllSplitsGiveTheSame) {
  const std::vector<std::vector<std::string>> stop_sets = {
      {"abab"}, {"aab", "ba"}, {"b", "abb"}, {"abaabaa", "baab"}, {"", "bb"}, {}, {"a"}, {"aaaa"}};
  const std::vector<std::string> texts = {"aabaabaabb", "abaababaab", "aaabbbabab", "bbbbbbbb", "abaabab", "", "aaa"};
  for (const auto& stops : stop_sets) {
    for (const std::string& text : texts) {
      const Seen expected = oracle(stops, text);
      for (unsigned mask = 0; mask < 1u << text.size(); ++mask) {
        ASSERT_EQ(feed(stops, split(text, mask)).text, expected.text) << text << " mask " << mask;
        ASSERT_EQ(feed(stops, split(text, mask)).stopped, expected.stopped);
      }
    }
  }
}

TEST(StopMatcher, RandomTexts) {
  std::mt19937 gen(1);
  const auto word = [&](size_t most) {
    std::string s;
    for (size_t i = gen() % (most + 1); i > 0; --i) s += static_cast<char>('a' + gen() % 2);
    return s;
  };
  for (int i = 0; i < 5000; ++i) {
    std::vector<std::string> stops;
    for (size_t n = gen() % 4; n > 0; --n) stops.push_back(word(7));
    const std::string text = word(30);
    ASSERT_EQ(feed(stops, split(text, static_cast<unsigned>(gen()))), oracle(stops, text)) << text;
  }
}

TEST(StopMatcher, HoldsBackNoMoreThanNeeded) {
  StopMatcher m({"</s>", "<stop>"});
  EXPECT_EQ(m.push("hello <").text, "hello ");
  EXPECT_EQ(m.push("s").text, "");
  EXPECT_EQ(m.push("").text, "");
  EXPECT_EQ(m.push("un").text, "<sun");
  EXPECT_EQ(m.push("</").text, "");
  EXPECT_EQ(m.flush(), "</");
  const StopMatcher::Output out = m.push("x</s>tail");
  EXPECT_EQ(out.text, "x");
  EXPECT_TRUE(out.stopped);
  EXPECT_TRUE(m.stopped());
  EXPECT_EQ(m.push("more").text, "");
  EXPECT_TRUE(m.push("more").stopped);
}

}  // namespace
}  // namespace toccata
