// The merge loop of byte-pair encoding, shared by byte-level BPE and SentencePiece BPE.
//
// Of all adjacent pairs that may merge, the one of lowest rank merges first, the leftmost among equals, until none is
// left (Sennrich et al. 2016). Short words scan for the minimum; long ones use a heap, so that a word of n symbols
// costs O(n log n).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace toccata {

class BpeMerger {
 public:
  static constexpr uint32_t kNoMerge = std::numeric_limits<uint32_t>::max();

  struct Symbol {
    uint32_t begin = 0, end = 0;  // bytes within the word
    TokenId id = -1;
    // The pair of this symbol and the next one.
    uint32_t rank = kNoMerge;
    TokenId merged = -1;
    int32_t previous = -1, next = -1;  // heap path only
  };

  // Words are cut to this size by the callers, so that indices fit and memory stays bounded.
  static constexpr size_t kMaxWord = size_t{1} << 26;

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
      merge_by_heap(look_up);
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

  void push(size_t i) {
    if (symbols_[i].rank == kNoMerge) return;
    heap_.push_back(uint64_t{symbols_[i].rank} << 32 | i);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  // The heap holds (rank, left symbol). A symbol's own rank is the truth: an entry with another rank is stale.
  template <class LookUp>
  void merge_by_heap(LookUp&& look_up) {
    heap_.clear();
    for (size_t i = 0; i < symbols_.size(); ++i) {
      symbols_[i].previous = static_cast<int32_t>(i) - 1;
      symbols_[i].next = i + 1 < symbols_.size() ? static_cast<int32_t>(i + 1) : -1;
      if (symbols_[i].rank != kNoMerge) heap_.push_back(uint64_t{symbols_[i].rank} << 32 | i);
    }
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
    while (!heap_.empty()) {
      const size_t i = heap_.front() & 0xFFFFFFFFu;
      const uint32_t rank = static_cast<uint32_t>(heap_.front() >> 32);
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.pop_back();
      Symbol& left = symbols_[i];
      if (left.rank != rank) continue;
      Symbol& right = symbols_[static_cast<size_t>(left.next)];
      left.id = left.merged;
      left.end = right.end;
      left.next = right.next;
      left.rank = kNoMerge;
      right = Symbol();
      right.previous = kDead;
      if (left.next >= 0) {
        symbols_[static_cast<size_t>(left.next)].previous = static_cast<int32_t>(i);
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

  static constexpr int32_t kDead = -2;
  std::vector<Symbol> symbols_;
  std::vector<uint64_t> heap_;
};

}  // namespace toccata
