// Remembers the tokens of the words seen during one encode() call.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <string_view>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace toccata {

// Direct-mapped: a newer word displaces an older one with the same slot, so memory is bounded and no input can make
// a look-up slow. The words must outlive the cache; their tokens are re-read from the output they were written to.
class WordCache {
 public:
  explicit WordCache(size_t text_bytes) : slots_(std::bit_ceil(std::clamp<size_t>(text_bytes / 8, 16, 8192))) {}

  // Appends the word's tokens to `out`, by copying what it appended for the same word before, or else by calling
  // encode() (which must append to `out` itself).
  template <class Encode>
  void append(std::string_view word, std::vector<TokenId>& out, Encode&& encode) {
    if (word.size() > kMaxWord) return encode();
    Slot& slot = slots_[std::hash<std::string_view>()(word) & (slots_.size() - 1)];
    if (slot.word == word && !word.empty()) {
      for (size_t i = 0; i < slot.count; ++i) out.push_back(TokenId{out[slot.first + i]});
      return;
    }
    const size_t first = out.size();
    encode();
    slot = {word, first, out.size() - first};
  }

 private:
  static constexpr size_t kMaxWord = 64;
  struct Slot {
    std::string_view word;
    size_t first = 0, count = 0;
  };
  std::vector<Slot> slots_;
};

}  // namespace toccata
