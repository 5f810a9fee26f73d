#include "sampling/candidates.h"

#include <cmath>
#include <functional>
#include <limits>

#include "base/check.h"
#include "base/exact_math.h"
#include "kernels/dispatch.h"

namespace toccata {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

// All sets give the same bits. If the choice failed, whoever loads the model says so.
const kernels::VecKernels& vec() {
  static const kernels::VecKernels& chosen =
      *(kernels::select_kernels() ? *kernels::select_kernels() : &kernels::available_kernels().front())->vec;
  return chosen;
}

// Below the k-th best: each of the k best tops is the logit of another token.
float first_bar(const LogitsRow& row, size_t k) {
  if (k > row.tops.size()) return kNothing;
  std::vector<float> tops(row.tops.begin(), row.tops.end());
  const auto at = tops.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(tops.begin(), at, tops.end(), std::greater<>());
  return std::nextafter(*at, kNothing);
}

}  // namespace

LogitsRow look_at(std::span<const float> logits, std::vector<float>& tops) {
  static_assert(LogitsRow::kRun == kernels::kMaxRun);
  TOCCATA_CHECK(!logits.empty());
  tops.resize((logits.size() + LogitsRow::kRun - 1) / LogitsRow::kRun);
  vec().run_max(logits.data(), std::ssize(logits), tops.data());
  return {logits, tops, *std::max_element(tops.begin(), tops.end())};
}

void select_best(const LogitsRow& row, size_t k, std::vector<Candidate>& out) {
  out.clear();
  k = std::min(k, row.logits.size());
  if (k == 0) return;
  const size_t room = std::max<size_t>(2 * k, 256);
  const auto cut = [&out, k] {
    std::nth_element(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(k - 1), out.end(), ranks_before);
    out.resize(k);
  };
  // Later elements have higher ids, so one that only equals the k-th best loses the tie: strictly above is right.
  float bar = first_bar(row, k);
  for (size_t j = 0; j < row.tops.size(); ++j) {
    if (!(row.tops[j] > bar)) continue;
    const std::span<const float> run = row.run(j);
    for (size_t i = 0; i < run.size(); ++i) {
      if (!(run[i] > bar)) continue;
      out.push_back({run[i], static_cast<int32_t>(j * LogitsRow::kRun + i), 0.0, 0.0});
      if (out.size() < room) continue;
      cut();
      bar = out[k - 1].logit;
    }
  }
  if (out.size() > k) cut();
}

void best_of(const LogitsRow& row, size_t k, std::vector<Candidate>& out) {
  select_best(row, k, out);
  std::sort(out.begin(), out.end(), ranks_before);
}

int32_t argmax(const LogitsRow& row) {
  if (row.best > kNothing) {
    const auto j = static_cast<size_t>(std::find(row.tops.begin(), row.tops.end(), row.best) - row.tops.begin());
    const std::span<const float> run = row.run(j);
    return static_cast<int32_t>(j * LogitsRow::kRun) +
           static_cast<int32_t>(std::find(run.begin(), run.end(), row.best) - run.begin());
  }
  const auto is_number = [](float x) { return !std::isnan(x); };
  const auto found = std::find_if(row.logits.begin(), row.logits.end(), is_number);
  return found == row.logits.end() ? 0 : static_cast<int32_t>(found - row.logits.begin());
}

double total_weight(const LogitsRow& row, double temperature) {
  return vec().exp_sum(row.logits.data(), std::ssize(row.logits), static_cast<double>(row.best), 1.0 / temperature);
}

double log_sum_exp(const LogitsRow& row) {
  const double best = static_cast<double>(row.best);
  return std::isinf(best) ? best : best + exact::log(total_weight(row, 1.0));
}

float logprob_of(float logit, double lse) {
  const double p = static_cast<double>(logit) - lse;
  return std::isnan(p) ? kNothing : static_cast<float>(p);
}

}  // namespace toccata
