// A row of logits and the candidates of a draw, in the order that every rule here uses: higher logit first, ties to the
// lower token id.
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
  double share = 0.0;   // ln of the weight
  double weight = 0.0;  // probability up to a common factor; the best candidate's is 1
};

inline bool ranks_before(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

// A row of logits with the largest of each run of kRun of them, so that a search looks only into runs that hold
// something for it. NaN counts as -infinity everywhere.
struct LogitsRow {
  static constexpr size_t kRun = 128;
  std::span<const float> logits;  // not empty
  std::span<const float> tops;
  float best = 0.0f;  // the largest of all; -infinity if nothing is above it

  std::span<const float> run(size_t j) const {
    return logits.subspan(j * kRun, std::min(kRun, logits.size() - j * kRun));
  }
};
LogitsRow look_at(std::span<const float> logits, std::vector<float>& tops);  // tops: the room for LogitsRow::tops

// The k best of a row, best first (fewer if fewer are above -infinity): the k-th best so far is the bar to pass.
// `select_best` leaves them in any order.
void best_of(const LogitsRow& row, size_t k, std::vector<Candidate>& out);
void select_best(const LogitsRow& row, size_t k, std::vector<Candidate>& out);

// Index of the highest value, the lowest index among equals. If nothing is above -infinity it is the first index that
// is not NaN, else 0.
int32_t argmax(const LogitsRow& row);

// ln(sum of exp(x)), in f64; -infinity if nothing is above it, +infinity if there is a +infinity. The terms are added
// in 16 lanes (kernels/vec.h: exp_sum).
double log_sum_exp(const LogitsRow& row);

// The same of a row that is looked at once.
inline int32_t argmax(std::span<const float> logits) {
  std::vector<float> tops;
  return argmax(look_at(logits, tops));
}
inline double log_sum_exp(std::span<const float> logits) {
  std::vector<float> tops;
  return log_sum_exp(look_at(logits, tops));
}

// ln of a token's share under the softmax of the row, given its log_sum_exp; -infinity where that is undefined.
float logprob_of(float logit, double lse);

// ln of a logit's weight at a temperature above 0, relative to the best of the row. Several +infinity weigh the same.
inline double log_share(float logit, float best, double temperature) {
  return logit == best ? 0.0 : (static_cast<double>(logit) - static_cast<double>(best)) / temperature;
}

// Sum of exp(log_share) over the row, best finite.
double total_weight(const LogitsRow& row, double temperature);

// Keeps the shortest front, in the order of `less` (total), whose weights hold `needed`, in any order; all if they do
// not. Halves the range in which the front ends until it is short: O(n), nothing is sorted.
template <class Less>
void keep_front(std::vector<Candidate>& c, Less less, double needed) {
  constexpr std::ptrdiff_t kShort = 16;
  auto first = c.begin(), last = c.end();  // the end lies in (first, last]; `needed` is what the rest must hold
  while (last - first > kShort) {
    const auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last, less);
    double held = 0;
    for (auto it = first; it != middle; ++it) held += it->weight;
    if (held >= needed) {
      last = middle;
    } else {
      needed -= held;
      first = middle;
    }
  }
  std::sort(first, last, less);
  for (double held = 0; first != last; ++first) {
    held += first->weight;
    if (held >= needed) {
      last = first + 1;
      break;
    }
  }
  c.erase(last, c.end());
}

}  // namespace toccata
