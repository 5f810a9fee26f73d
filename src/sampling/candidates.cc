#include "sampling/candidates.h"

#include <cmath>
#include <limits>

#include "base/exact_math.h"

namespace toccata {

void best_of(std::span<const float> logits, size_t k, std::vector<Candidate>& out) {
  out.clear();
  k = std::min(k, logits.size());
  if (k == 0) return;
  const size_t room = std::max<size_t>(2 * k, 256);
  // Later elements have higher ids, so one that only equals the k-th best loses the tie: strictly above is right.
  float bar = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] > bar)) continue;
    out.push_back({logits[i], static_cast<int32_t>(i), 0.0});
    if (out.size() < room) continue;
    std::nth_element(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(k - 1), out.end(), ranks_before);
    out.resize(k);
    bar = out[k - 1].logit;
  }
  if (out.size() > k) {
    std::nth_element(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(k - 1), out.end(), ranks_before);
    out.resize(k);
  }
  std::sort(out.begin(), out.end(), ranks_before);
}

int32_t argmax(std::span<const float> logits) {
  float best = -std::numeric_limits<float>::infinity();
  int32_t at = -1;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > best) {
      best = logits[i];
      at = static_cast<int32_t>(i);
    }
  }
  if (at >= 0) return at;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!std::isnan(logits[i])) return static_cast<int32_t>(i);
  }
  return 0;
}

double log_sum_exp(std::span<const float> logits) {
  float top = -std::numeric_limits<float>::infinity();
  for (float x : logits) top = x > top ? x : top;
  if (std::isinf(top)) return static_cast<double>(top);
  constexpr size_t kLanes = 16, kBlock = 256;
  double lanes[kLanes] = {};
  double terms[kBlock];
  const double shift = static_cast<double>(top);
  for (size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const size_t n = std::min(kBlock, logits.size() - begin);
    for (size_t i = 0; i < n; ++i) terms[i] = static_cast<double>(logits[begin + i]) - shift;
    exact::exp(terms, terms, n);
    for (size_t i = 0; i < n; ++i) lanes[i % kLanes] += std::isnan(terms[i]) ? 0.0 : terms[i];
  }
  double sum = 0;
  for (double lane : lanes) sum += lane;
  return shift + exact::log(sum);
}

float logprob_of(float logit, double lse) {
  const double p = static_cast<double>(logit) - lse;
  return std::isnan(p) ? -std::numeric_limits<float>::infinity() : static_cast<float>(p);
}

}  // namespace toccata
