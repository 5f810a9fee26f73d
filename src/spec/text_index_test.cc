#include "spec/text_index.h"

#include <gtest/gtest.h>

#include <random>

namespace toccata::spec {
namespace {

using Tokens = std::vector<int32_t>;

void append(TextIndex& index, const Tokens& tokens) {
  for (const int32_t t : tokens) index.append(t);
}

int64_t common(const Tokens& text, size_t next, const Tokens& end, size_t oldest) {
  int64_t n = 0;
  while (n < TextIndex::kLongest && next > oldest + static_cast<size_t>(n) && static_cast<size_t>(n) < end.size() &&
         text[next - 1 - static_cast<size_t>(n)] == end[end.size() - 1 - static_cast<size_t>(n)]) {
    ++n;
  }
  return n;
}

TEST(TextIndex, NeverFindsTheEndItself) {
  TextIndex index(100);
  const Tokens text = {1, 2, 3, 4, 5, 6};
  append(index, text);
  std::vector<TextIndex::Match> found;
  index.find(text, 10, found);
  EXPECT_TRUE(found.empty());
  append(index, {5, 6});
  index.find(Tokens{1, 2, 3, 4, 5, 6, 5, 6}, 10, found);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].next, 6);
  EXPECT_EQ(found[0].length, 2);
}

TEST(TextIndex, MatchesDoNotCrossABoundary) {
  TextIndex index(100);
  append(index, {1, 2, 3, TextIndex::kBoundary, 4, 5, 6, 7});
  std::vector<TextIndex::Match> found;
  index.find(Tokens{2, 3, 4, 5}, 10, found);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].length, 2);
  index.find(Tokens{3, 4}, 10, found);
  EXPECT_TRUE(found.empty());
}

// Against the whole search: every match is real, the latest come first, and where the chains are short none is missed.
TEST(TextIndex, AgreesWithASearchOfEverything) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 rng(seed);
    const auto kinds = static_cast<unsigned>(2 + rng() % 20);
    const int64_t most = seed % 3 == 0 ? 1 + static_cast<int64_t>(rng() % 3000) : 1 << 14;
    TextIndex index(most);
    Tokens text;
    const size_t n = seed % 20 == 0 ? 5000 : rng() % 200;
    for (size_t i = 0; i < n; ++i) {
      text.push_back(static_cast<int32_t>(rng() % kinds));
      index.append(text.back());
    }
    EXPECT_LE(index.size() - index.oldest(), std::max<int64_t>(1024, 2 * most));
    std::vector<TextIndex::Match> found;
    index.find(text, SIZE_MAX, found);
    const auto oldest = static_cast<size_t>(index.oldest());
    size_t fours = 0, twos = 0;
    for (size_t p = oldest; p < text.size(); ++p) {
      const int64_t length = common(text, p, text, oldest);
      fours += length >= 4 ? 1 : 0;
      twos += length >= 2 ? 1 : 0;
    }
    if (n <= 200) {
      EXPECT_EQ(found.size(), fours > 0 ? fours : twos) << seed;
    }
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].length, common(text, static_cast<size_t>(found[i].next), text, oldest)) << seed;
      ASSERT_GE(found[i].length, fours > 0 ? 4 : 2);
      if (i > 0) {
        ASSERT_LT(found[i].next, found[i - 1].next);
      }
    }
  }
}

}  // namespace
}  // namespace toccata::spec
