// The merge loop of byte-pair encoding, shared by byte-level BPE and SentencePiece BPE.
//
// Of all adjacent pairs that may merge, the one of lowest rank merges first, the leftmost among equals, until none is
// left (Sennrich et al. 2016). Short words scan for the minimum; long ones use a priority queue, so that a word of n
// symbols costs O(n log n).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace toccata {

class BpeMerger {
 public:
  static constexpr uint32_t kNoMerge = std::numeric_limits<uint32_t>::max();
  // Words are cut to this size by the callers, so that indices fit and memory stays bounded.
  static constexpr size_t kMaxWord = size_t{1} << 26;

  struct Symbol {
    uint32_t begin = 0, end = 0;  // bytes within the word
    TokenId id = -1;
    // The pair of this symbol and the next one.
    uint32_t rank = kNoMerge;
    TokenId merged = -1;
    int32_t previous = -1, next = -1;  // long words only
  };

  std::vector<Symbol>& symbols() { return symbols_; }

  // Merges symbols() in place; afterwards they are the word's tokens in order. look_up(left, right, rank, merged)
  // sets the last two and returns true when the pair may merge.
  template <class LookUp>
  void run(LookUp&& look_up) {
    for (size_t i = 0; i + 1 < symbols_.size(); ++i) look_up_pair(symbols_[i], symbols_[i + 1], look_up);
    if (!symbols_.empty()) symbols_.back().rank = kNoMerge;
    if (symbols_.size() <= kScanLimit) {
      merge_by_scan(look_up);
    } else {
      merge_by_queue(look_up);
    }
  }

 private:
  static constexpr size_t kScanLimit = 48;

  template <class LookUp>
  static void look_up_pair(Symbol& left, const Symbol& right, LookUp&& look_up) {
    if (!look_up(left, right, left.rank, left.merged)) left.rank = kNoMerge;
  }

  template <class LookUp>
  void merge_by_scan(LookUp&& look_up) {
    while (symbols_.size() > 1) {
      const auto best = std::min_element(symbols_.begin(), symbols_.end(),
                                         [](const Symbol& a, const Symbol& b) { return a.rank < b.rank; });
      if (best->rank == kNoMerge) return;
      best->id = best->merged;
      best->end = (best + 1)->end;
      symbols_.erase(best + 1);
      best->rank = kNoMerge;
      if (best + 1 != symbols_.end()) look_up_pair(*best, *(best + 1), look_up);
      if (best != symbols_.begin()) look_up_pair(*(best - 1), *best, look_up);
    }
  }

  // The queue holds rank << 32 | left symbol. A symbol's own rank is the truth: an entry with another rank is stale.
  template <class LookUp>
  void merge_by_queue(LookUp&& look_up) {
    std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> queue;
    const auto push = [&](size_t i) {
      if (symbols_[i].rank != kNoMerge) queue.push(uint64_t{symbols_[i].rank} << 32 | i);
    };
    for (size_t i = 0; i < symbols_.size(); ++i) {
      symbols_[i].previous = static_cast<int32_t>(i) - 1;
      symbols_[i].next = i + 1 < symbols_.size() ? static_cast<int32_t>(i + 1) : -1;
      push(i);
    }
    while (!queue.empty()) {
      const uint64_t entry = queue.top();
      queue.pop();
      const size_t i = entry & 0xFFFFFFFFu;
      Symbol& left = symbols_[i];
      if (left.rank != entry >> 32) continue;
      absorb_next(i);
      if (left.next >= 0) {
        look_up_pair(left, symbols_[static_cast<size_t>(left.next)], look_up);
        push(i);
      }
      if (left.previous >= 0) {
        look_up_pair(symbols_[static_cast<size_t>(left.previous)], left, look_up);
        push(static_cast<size_t>(left.previous));
      }
    }
    std::erase_if(symbols_, [](const Symbol& s) { return s.previous == kDead; });
  }

  void absorb_next(size_t i) {
    Symbol& left = symbols_[i];
    Symbol& right = symbols_[static_cast<size_t>(left.next)];
    left.id = left.merged;
    left.end = right.end;
    left.next = right.next;
    left.rank = kNoMerge;
    if (left.next >= 0) symbols_[static_cast<size_t>(left.next)].previous = static_cast<int32_t>(i);
    right.previous = kDead;
    right.rank = kNoMerge;
  }

  static constexpr int32_t kDead = -2;
  std::vector<Symbol> symbols_;
};

}  // namespace toccata
