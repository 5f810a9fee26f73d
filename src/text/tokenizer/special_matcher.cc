#include "text/tokenizer/special_matcher.h"

#include <algorithm>

namespace toccata {

namespace {

uint8_t byte_at(std::string_view s, size_t i) { return static_cast<uint8_t>(s[i]); }

}  // namespace

SpecialMatcher::SpecialMatcher(std::vector<std::pair<std::string, TokenId>> patterns) : patterns_(std::move(patterns)) {
  std::erase_if(patterns_, [](const auto& p) { return p.first.empty(); });
  std::sort(patterns_.begin(), patterns_.end());  // std::string compares as unsigned bytes
  const auto same_text = [](const auto& a, const auto& b) { return a.first == b.first; };
  patterns_.erase(std::unique(patterns_.begin(), patterns_.end(), same_text), patterns_.end());
  for (const auto& p : patterns_) ++first_[byte_at(p.first, 0) + size_t{1}];
  for (size_t b = 0; b < 256; ++b) first_[b + 1] += first_[b];
}

SpecialMatcher::Match SpecialMatcher::find(std::string_view text, size_t from) const {
  if (patterns_.empty()) return {};
  for (size_t pos = from; pos < text.size(); ++pos) {
    const uint8_t b = byte_at(text, pos);
    if (first_[b] == first_[b + size_t{1}]) continue;
    if (const Match m = match_at(text, pos); m.id >= 0) return m;
  }
  return {};
}

SpecialMatcher::Match SpecialMatcher::match_at(std::string_view text, size_t pos) const {
  Match best;
  const uint8_t b = byte_at(text, pos);
  auto low = patterns_.begin() + first_[b], high = patterns_.begin() + first_[b + size_t{1}];
  for (size_t depth = 1; low != high; ++depth) {
    if (low->first.size() == depth) {
      best = {pos, depth, low->second};
      if (++low == high) break;
    }
    if (pos + depth >= text.size()) break;
    const uint8_t next = byte_at(text, pos + depth);
    low = std::partition_point(low, high, [&](const auto& p) { return byte_at(p.first, depth) < next; });
    high = std::partition_point(low, high, [&](const auto& p) { return byte_at(p.first, depth) == next; });
  }
  return best;
}

}  // namespace toccata
