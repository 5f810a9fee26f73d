// Candidates of a draw, in the order that every rule here uses: higher logit first, ties to the lower token id.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace toccata {

struct Candidate {
  float logit = 0.0f;
  int32_t token = -1;
  double weight = 0.0;  // probability up to a common factor
};

inline bool ranks_before(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

// Visits items in the order of `less` (total) until visit() returns true; the result is the number visited. Sorts
// only as far as the walk goes (blocks that grow fourfold, each split off by nth_element), so a walk that ends early
// costs O(n); the visited ones lie sorted at the front afterwards.
template <class T, class Less, class Visit>
size_t visit_in_order(std::span<T> all, Less less, Visit visit) {
  size_t sorted = 0;
  for (size_t block = 64; sorted < all.size(); block *= 4) {
    const size_t end = std::min(all.size(), sorted + block);
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(sorted);
    const auto last = all.begin() + static_cast<std::ptrdiff_t>(end);
    if (end < all.size()) std::nth_element(first, last, all.end(), less);
    std::sort(first, last, less);
    for (; sorted < end; ++sorted) {
      if (visit(all[sorted])) return sorted + 1;
    }
  }
  return sorted;
}

// The k best of a row, best first (fewer if fewer are above -infinity; NaN never counts). One pass over the row:
// a buffer of 2 k is cut back to k whenever it is full, and the k-th best so far becomes the bar to pass.
void best_of(std::span<const float> logits, size_t k, std::vector<Candidate>& out);

// Index of the highest value, the lowest index among equals. NaN never wins; if nothing is above -infinity it is the
// first index that is not NaN, else 0. The row must not be empty.
int32_t argmax(std::span<const float> logits);

// ln(sum of exp(x)), in double from f32 values; NaN counts as -infinity. -infinity if nothing is above it,
// +infinity if there is a +infinity. The terms are added in 16 lanes (i mod 16), then lane by lane.
double log_sum_exp(std::span<const float> logits);

// ln of a token's share under the softmax of the row, given its log_sum_exp; -infinity where that is undefined.
float logprob_of(float logit, double lse);

}  // namespace toccata
