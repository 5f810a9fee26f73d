// Finds where the end of a text has occurred before: hash chains over its tokens, as LZ77 coders use them.
//
// Each position is chained to the latest earlier one that had the same four, and to the one that had the same two
// tokens before it. find() walks the chain of four, and only if that is empty the chain of two, compares the tokens
// themselves, and so gives true matches, however the hashes collide. Appending is O(1), a search at most kMostSteps
// comparisons, memory about 36 bytes a token and bounded: beyond its limit the index forgets the oldest tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace toccata::spec {

class TextIndex {
 public:
  static constexpr int64_t kShortest = 2;   // tokens of a match
  static constexpr int64_t kLongest = 64;   // beyond which lengths are not told apart
  static constexpr int kMostSteps = 256;    // along a chain
  static constexpr int32_t kBoundary = -1;  // between two texts: no match crosses it

  // Keeps at least the last `most_tokens` tokens.
  explicit TextIndex(int64_t most_tokens);

  void append(int32_t token);             // a token id, or kBoundary
  int64_t size() const { return size_; }  // tokens that were ever appended
  int64_t oldest() const { return size_ - capacity_ > 0 ? size_ - capacity_ : 0; }
  int32_t at(int64_t position) const { return tokens_[slot(position)]; }  // oldest() <= position < size()

  struct Match {
    int64_t next = 0;    // position of the token that followed
    int64_t length = 0;  // how many tokens before it are the end of the text, at most kLongest
  };
  // Occurrences of the end of `text`, the latest first, at most `most`. If four tokens match anywhere, only such.
  void find(std::span<const int32_t> text, size_t most, std::vector<Match>& out) const;

 private:
  static constexpr int kFour = 0, kTwo = 1;  // the chains
  static constexpr int64_t kGram[2] = {4, 2};

  size_t slot(int64_t position) const { return static_cast<size_t>(position) & (static_cast<size_t>(capacity_) - 1); }
  uint32_t bucket(int chain, const int32_t* newest) const;
  void link(int64_t position);
  void grow();
  int64_t matching(std::span<const int32_t> text, int64_t next) const;

  int64_t most_, capacity_, size_ = 0;  // capacity_: a power of two
  std::vector<int32_t> tokens_;         // ring
  std::vector<int64_t> heads_[2];       // by bucket: the latest position, -1: none
  std::vector<int64_t> before_[2];      // by slot: the position before in the chain
};

}  // namespace toccata::spec
