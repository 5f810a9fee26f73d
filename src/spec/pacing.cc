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

// The best step of drafts of at most `deepest` tokens: rows in order of their probability, as many as pay.
Pacing::Best Pacing::best_of(int64_t deepest, int64_t requests) const {
  std::array<size_t, SpeculationParams::kMostTokens> drafting{};
  double tokens = static_cast<double>(requests), drafter = 0;
  Best best{0, 0, deepest};
  size_t rows = 0;
  for (const Row& row : rows_) {
    if (row.depth >= deepest) continue;
    if (++rows >= step_.size()) break;
    size_t& beside = drafting[static_cast<size_t>(row.depth)];
    drafter += token_[beside + 1] - token_[beside];
    ++beside;
    tokens += row.right;
    const double rate = tokens / (step_[rows] + drafter);
    if (rate > best.rate) best = {rate, rows, deepest};
  }
  return best;
}

// Sets what each candidate would draft. The result is the best step's tokens per second. A further token of few drafts
// takes nearly as long as one of all of them, so it is not enough to go by probability: short drafts of all are
// compared with long ones of the best.
double Pacing::best_rate(std::span<Candidate> candidates, int64_t requests, const Costs& costs, int64_t most_rows) {
  rows_.clear();
  for (size_t c = 0; c < candidates.size(); ++c) {
    double right = 1;
    for (int64_t i = 0; i < candidates[c].most; ++i) rows_.push_back({right *= candidates[c].acceptance, c, i});
  }
  std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.right > b.right; });
  step_.clear();
  for (int64_t n = 0; n <= std::min(most_rows, std::ssize(rows_)); ++n) step_.push_back(costs.step(n));
  token_.assign(1, 0.0);
  for (size_t n = 1; n <= candidates.size(); ++n) token_.push_back(costs.token(static_cast<int64_t>(n)));
  Best best;
  for (int64_t deepest = 1; deepest <= SpeculationParams::kMostTokens; deepest += 1 + deepest / 4) {
    const Best now = best_of(deepest, requests);
    if (now.rate > best.rate) best = now;
  }
  for (Candidate& c : candidates) c.tokens = 0;
  for (const Row& row : rows_) {
    if (row.depth >= best.deepest) continue;
    if (best.rows-- == 0) break;
    ++candidates[row.candidate].tokens;
  }
  return best.rate;
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
  rows_left_ = most_rows - std::count_if(candidates.begin(), candidates.end(), [](auto& c) { return c.invited; });
  if (rows_left_ < most_rows) return;
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

bool Pacing::worth(int64_t drafted, double right, int64_t going, const Costs& costs) {
  if (rows_left_ < 1 || (trying_ && drafted >= kTried)) return false;
  const double row = costs.step(2) - costs.step(1);
  if (!trying_ && right <= rate_ * (costs.token(going) / static_cast<double>(going) + std::max(0.0, row))) return false;
  --rows_left_;
  return true;
}

}  // namespace toccata::spec
