#include "sched/cost_model.h"

#include <algorithm>
#include <cmath>

namespace toccata::sched {
namespace {

constexpr double kHuber = 0.25;        // relative error from which a sample counts linearly
constexpr double kHalfLife = 64.0;     // steps after which a sample counts half
constexpr int kPasses = 3;             // of reweighting
constexpr int kSweeps = 60;            // of coordinate descent, from the last fit's coefficients
constexpr double kKeysPerUnit = 1024;  // keeps the terms of one size

// 1, 2, 3-4, 5-8, ... : ceil(log2(n)).
size_t range_of(int64_t n) {
  size_t r = 0;
  while ((int64_t{1} << r) < n) ++r;
  return r;
}

}  // namespace

CostModel::Terms CostModel::terms_of(const StepShape& s) {
  return {1.0,
          s.prefill_tokens > 0 ? 1.0 : 0.0,
          static_cast<double>(s.prefill_tokens),
          s.prefill_keys / kKeysPerUnit,
          static_cast<double>(s.decodes + s.drafted),
          s.decode_keys / kKeysPerUnit};
}

// Decode steps: up to 1, 2, 4, 8, 16, more. Steps with prompts: up to 8, 16, 32, 64, 128, 256, more.
size_t CostModel::kind_of(const StepShape& s) {
  if (s.prefill_tokens == 0) return std::min<size_t>(range_of(s.decodes + s.drafted), 5);
  return 6 + std::clamp<size_t>(range_of(s.prefill_tokens), 3, 9) - 3;
}

double CostModel::value(const Terms& terms) const {
  double t = 0;
  for (size_t i = 0; i < kTerms; ++i) t += coefficients_[i] * terms[i];
  return t;
}

double CostModel::predict(const StepShape& shape) const { return value(terms_of(shape)); }

void CostModel::observe(const StepShape& shape, double seconds) {
  if (!(seconds > 0) || !std::isfinite(seconds)) return;
  const size_t kind = kind_of(shape);
  samples_by_kind_[kind][next_[kind]] = {terms_of(shape), seconds, ++samples_};
  next_[kind] = (next_[kind] + 1) % kRing;
  largest_prefill_ = std::max(largest_prefill_, shape.prefill_tokens);
  fit();
}

void CostModel::fit() {
  for (int pass = 0; pass < kPasses; ++pass) {
    std::array<Terms, kTerms> gram{};
    Terms moment{};
    for (const auto& ring : samples_by_kind_) {
      for (const Sample& s : ring) {
        if (s.seconds <= 0) continue;
        double weight = 1.0 / (1.0 + static_cast<double>(samples_ - s.number) / kHalfLife);
        const double error = std::fabs(value(s.terms) - s.seconds) / s.seconds;
        if (samples_ > 8 && error > kHuber) weight *= kHuber / error;
        weight /= s.seconds * s.seconds;
        for (size_t i = 0; i < kTerms; ++i) {
          const double w = weight * s.terms[i];
          moment[i] += w * s.seconds;
          for (size_t j = i; j < kTerms; ++j) gram[i][j] += w * s.terms[j];
        }
      }
    }
    solve(gram, moment);
  }
}

// Least squares with coefficients >= 0: each in turn moves to its best value while the others stay.
void CostModel::solve(const std::array<Terms, kTerms>& gram, const Terms& moment) {
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (size_t i = 0; i < kTerms; ++i) {
      if (gram[i][i] <= 0) continue;
      double gradient = moment[i];
      for (size_t j = 0; j < kTerms; ++j) gradient -= gram[std::min(i, j)][std::max(i, j)] * coefficients_[j];
      coefficients_[i] = std::max(0.0, coefficients_[i] + gradient / gram[i][i]);
    }
  }
}

}  // namespace toccata::sched
