#include "spec/text_index.h"

#include <algorithm>
#include <bit>

namespace toccata::spec {
namespace {

constexpr int64_t kFirstCapacity = 1024;

int64_t power_of_two(int64_t n) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n))); }

}  // namespace

TextIndex::TextIndex(int64_t most_tokens)
    : most_(power_of_two(std::max<int64_t>(most_tokens, 1))), capacity_(std::min(most_, kFirstCapacity)) {
  grow();
}

// Sizes everything to capacity_ and links what is there anew.
void TextIndex::grow() {
  std::vector<int32_t> old(tokens_);
  tokens_.assign(static_cast<size_t>(capacity_), kBoundary);
  for (int chain : {kFour, kTwo}) {
    heads_[chain].assign(static_cast<size_t>(capacity_), -1);
    before_[chain].assign(static_cast<size_t>(capacity_), -1);
  }
  // Before the first doubling nothing was overwritten: slots are positions.
  for (size_t p = 0; p < old.size(); ++p) {
    link(static_cast<int64_t>(p));
    tokens_[p] = old[p];
  }
}

// The bucket of the tokens that end with `newest`.
uint32_t TextIndex::bucket(int chain, const int32_t* newest) const {
  uint64_t h = 0;
  for (int64_t i = 0; i < kGram[chain]; ++i) h = (h ^ static_cast<uint32_t>(newest[-i])) * 0x9E3779B97F4A7C15ull;
  return static_cast<uint32_t>(h >> 32) & static_cast<uint32_t>(capacity_ - 1);
}

// Chains `position` behind the tokens before it, which are in the ring.
void TextIndex::link(int64_t position) {
  int32_t last[4];
  for (int chain : {kFour, kTwo}) {
    const int64_t n = kGram[chain];
    if (position < n) continue;
    for (int64_t i = 0; i < n; ++i) last[n - 1 - i] = at(position - 1 - i);
    int64_t& head = heads_[chain][bucket(chain, last + n - 1)];
    before_[chain][slot(position)] = head;
    head = position;
  }
}

void TextIndex::append(int32_t token) {
  if (size_ == capacity_ && capacity_ < most_) {
    capacity_ *= 2;
    grow();
  }
  link(size_);
  tokens_[slot(size_)] = token;
  ++size_;
}

int64_t TextIndex::matching(std::span<const int32_t> text, int64_t next) const {
  const int64_t most = std::min({kLongest, std::ssize(text), next - oldest()});
  int64_t n = 0;
  while (n < most && at(next - 1 - n) == text[text.size() - 1 - static_cast<size_t>(n)]) ++n;
  return n;
}

void TextIndex::find(std::span<const int32_t> text, size_t most, std::vector<Match>& out) const {
  out.clear();
  for (int chain : {kFour, kTwo}) {
    if (std::ssize(text) < kGram[chain]) continue;
    int64_t p = heads_[chain][bucket(chain, text.data() + text.size() - 1)];
    for (int steps = 0; p >= oldest() && steps < kMostSteps && out.size() < most; ++steps) {
      const int64_t length = matching(text, p);
      if (length >= kGram[chain]) out.push_back({p, length});
      p = before_[chain][slot(p)];
    }
    if (!out.empty()) return;
  }
}

}  // namespace toccata::spec
