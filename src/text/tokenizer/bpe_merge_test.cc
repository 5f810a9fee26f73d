#include "text/tokenizer/bpe_merge.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "text/tokenizer/test_vocab.h"

namespace toccata {
namespace {

using Pair = std::pair<TokenId, TokenId>;
using Merges = std::map<Pair, std::pair<uint32_t, TokenId>>;  // to (rank, merged)

// The definition: scan for the lowest rank, leftmost, merge, start again.
std::vector<TokenId> merge_by_definition(std::vector<TokenId> ids, const Merges& merges) {
  for (;;) {
    size_t best = 0;
    uint32_t best_rank = BpeMerger::kNoMerge;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto m = merges.find({ids[i], ids[i + 1]});
      if (m != merges.end() && m->second.first < best_rank) {
        best = i;
        best_rank = m->second.first;
      }
    }
    if (best_rank == BpeMerger::kNoMerge) return ids;
    ids[best] = merges.at({ids[best], ids[best + 1]}).second;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

std::vector<TokenId> merge(const std::vector<TokenId>& ids, const Merges& merges) {
  BpeMerger merger;
  uint32_t at = 0;
  for (TokenId id : ids) {
    BpeMerger::Symbol& s = merger.symbols().emplace_back();
    s.id = id;
    s.begin = at;
    s.end = ++at;
  }
  merger.run([&](const BpeMerger::Symbol& left, const BpeMerger::Symbol& right, uint32_t& rank, TokenId& merged) {
    const auto m = merges.find({left.id, right.id});
    if (m == merges.end()) return false;
    std::tie(rank, merged) = m->second;
    return true;
  });
  std::vector<TokenId> out;
  uint32_t covered = 0;
  for (const BpeMerger::Symbol& s : merger.symbols()) {
    EXPECT_EQ(s.begin, covered);
    covered = s.end;
    out.push_back(s.id);
  }
  EXPECT_EQ(covered, ids.size());
  return out;
}

// Ranks are drawn freely, so a merge may enable one of lower or equal rank: more than a trained table ever asks for.
Merges random_merges(std::mt19937& random, TokenId letters, uint32_t ranks) {
  Merges merges;
  for (TokenId next = letters; next < letters + 40; ++next) {
    const auto pick = [&] { return static_cast<TokenId>(random() % static_cast<uint32_t>(next)); };
    const Pair pair{pick(), pick()};
    merges[pair] = {static_cast<uint32_t>(random() % ranks), next};
  }
  return merges;
}

TEST(BpeMerger, MergesByRankThenFromTheLeft) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const TokenId letters = 1 + static_cast<TokenId>(random() % 4);
    const Merges merges = random_merges(random, letters, static_cast<uint32_t>(1 + random() % 60));
    for (size_t length : {0u, 1u, 2u, 7u, 47u, 48u, 49u, 50u, 130u, 400u}) {  // both sides of the scan's limit
      std::vector<TokenId> word;
      for (size_t i = 0; i < length; ++i)
        word.push_back(static_cast<TokenId>(random() % static_cast<uint32_t>(letters)));
      ASSERT_EQ(merge(word, merges), merge_by_definition(word, merges)) << "seed " << seed << ", length " << length;
    }
  }
}

TEST(BpeMerger, EqualRanksMergeFromTheLeft) {
  EXPECT_EQ(merge({0, 0, 0}, {{{0, 0}, {0, 1}}}), (std::vector<TokenId>{1, 0}));
  EXPECT_EQ(merge(std::vector<TokenId>(101, 0), {{{0, 0}, {0, 1}}}).back(), 0);
}

}  // namespace
}  // namespace toccata
