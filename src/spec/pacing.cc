#include "spec/pacing.h"

#include <algorithm>
#include <array>

namespace toccata::spec {
namespace {

constexpr double kWorthAsking = 1.03;  // gain that asking must promise
constexpr double kTrying = 0.01;       // of the time without the drafter, saved up for trying it
constexpr double kMostSaved = 2.0;     // seconds
constexpr int64_t kTried = 2;          // tokens

}  // namespace

// Sets what each candidate would draft. The result is the best step's tokens per second.
double Pacing::best_rate(std::span<Candidate> candidates, int64_t requests, const Costs& costs, int64_t most_rows) {
  rows_.clear();
  for (size_t c = 0; c < candidates.size(); ++c) {
    double right = 1;
    for (int64_t i = 0; i < candidates[c].most; ++i) rows_.push_back({right *= candidates[c].acceptance, c});
  }
  std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.right > b.right; });
  std::vector<int64_t> length(candidates.size(), 0);
  std::array<int64_t, SpeculationParams::kMostTokens + 1> drafting{};
  double tokens = static_cast<double>(requests), drafter = 0, best = 0;
  size_t best_rows = 0;
  for (size_t n = 0; n < rows_.size() && static_cast<int64_t>(n) < most_rows; ++n) {
    tokens += rows_[n].right;
    int64_t& beside = drafting[static_cast<size_t>(length[rows_[n].candidate]++)];
    drafter += costs.token(beside + 1) - (beside > 0 ? costs.token(beside) : 0.0);
    ++beside;
    const double rate = tokens / (costs.step(static_cast<int64_t>(n) + 1) + drafter);
    if (rate <= best) continue;
    best = rate;
    best_rows = n + 1;
  }
  for (Candidate& c : candidates) c.tokens = 0;
  for (size_t n = 0; n < best_rows; ++n) ++candidates[rows_[n].candidate].tokens;
  return best;
}

void Pacing::invite(std::span<Candidate> candidates, int64_t requests, const Costs& costs, double otherwise,
                    int64_t most_rows) {
  trying_ = false;
  rate_ = otherwise;
  const double plain = costs.step(0);
  for (Candidate& c : candidates) c.invited = false;
  if (candidates.empty() || !(plain > 0 && otherwise > 0)) return;
  const double best = best_rate(candidates, requests, costs, most_rows);
  if (best > kWorthAsking * otherwise) {
    rate_ = best;
    int64_t invited = 0;
    for (const Candidate& c : candidates) invited += c.tokens > 0 ? 1 : 0;
    // Of the time that a step without the drafter takes, so much is saved for each of them.
    const double gain = plain * (1.0 - otherwise / best) / static_cast<double>(invited);
    for (Candidate& c : candidates) c.invited = c.tokens > 0 && c.reading < gain * c.left;
  }
  if (std::any_of(candidates.begin(), candidates.end(), [](const Candidate& c) { return c.invited; })) return;
  saved_ = std::min(kMostSaved, saved_ + kTrying * plain);
  try_one(candidates, costs);
}

void Pacing::try_one(std::span<Candidate> candidates, const Costs& costs) {
  Candidate* cheapest = nullptr;
  for (Candidate& c : candidates) {
    c.tokens = 0;
    if (!cheapest || c.reading < cheapest->reading) cheapest = &c;
  }
  const double cost = cheapest->reading + static_cast<double>(kTried) * costs.token(1);
  if (cost > saved_) return;
  saved_ -= cost;
  trying_ = cheapest->invited = true;
  cheapest->tokens = std::min(kTried, cheapest->most);
}

bool Pacing::worth(double right, int64_t going, const Costs& costs) const {
  if (trying_) return true;
  const double row = costs.step(2) - costs.step(1);
  return right > rate_ * (costs.token(going) / static_cast<double>(going) + std::max(0.0, row));
}

}  // namespace toccata::spec
