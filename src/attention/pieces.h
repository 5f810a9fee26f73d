// Spans under an eviction policy, cut where the cache changes: the tokens that see everything, then pieces that end at
// multiples of the interval. Each piece is written and attended before the next one takes its slots, so a chunk of any
// size gives the same bits, and a sequence never needs more than its plan's blocks.
//
// The pieces go in rounds: the first of each span, the second of each span, and so on.
#pragma once

#include <span>
#include <vector>

#include "attention/attention.h"

namespace toccata::attention {

class Pieces {
 public:
  void begin(const Args& args) {
    args_ = &args;
    round_ = 0;
  }
  // The next round; false at the end.
  bool next();
  std::span<const Span> spans() const { return spans_; }  // those whose attention is added up come last
  std::span<const Span> plain() const { return std::span(spans_).first(plain_); }
  std::span<const Span> scored() const { return std::span(spans_).subspan(plain_); }

  // What has to be evicted before the round, by rank: the sequence's block table and plan, and the position that comes.
  struct Eviction {
    const Span* span;
    int64_t at;
  };
  std::span<const Eviction> evictions() const { return evictions_; }

 private:
  const Args* args_ = nullptr;
  int64_t round_ = 0;
  size_t plain_ = 0;
  std::vector<Span> spans_, scored_;
  std::vector<Eviction> evictions_;
};

}  // namespace toccata::attention
