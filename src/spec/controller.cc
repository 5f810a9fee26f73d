#include "spec/controller.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace toccata::spec {
namespace {

constexpr double kMemory = 1.0 - 1.0 / 64;  // of a count, per observation
constexpr double kPriorWeight = 6.0;        // observations of all requests that a request's own outweigh
constexpr double kGuessWeight = 4.0;
constexpr double kGuess[kGrades] = {0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.5};  // before anything was observed
constexpr double kGuessOverall = 0.7;
constexpr double kWorth = 1.03;       // gain that a draft must promise: estimates err, and the highest err upwards
constexpr double kUnknownRow = 0.03;  // of a plain step, what a drafted row seems to cost at most before it was tried:
                                      // little, for one step tells
constexpr double kFollow = 0.15;      // of a new error in the correction
constexpr double kFade = 0.01;        // of a correction, per step
constexpr double kMostCorrection = 4.0;  // either way

// 1, 2, 3, 4, 5-6, 7-8, 9-12, 13-16, ...: two ranges for each doubling.
size_t range_of(int64_t rows) {
  if (rows < 3) return static_cast<size_t>(std::max<int64_t>(rows, 1) - 1);
  const auto top = static_cast<int>(std::bit_width(static_cast<uint64_t>(rows - 1))) - 1;  // 2^top < rows
  const bool upper = rows > (int64_t{3} << (top - 1));
  return std::min<size_t>(Controller::kRanges - 1, static_cast<size_t>(2 * top) + (upper ? 1 : 0));
}

}  // namespace

void Acceptance::observe(int grade, bool right) {
  Count& c = counts_[static_cast<size_t>(grade)];
  c.seen = c.seen * kMemory + 1;
  c.right = c.right * kMemory + (right ? 1 : 0);
}

double Acceptance::rate(int grade, double prior, double weight) const {
  const Count& c = counts_[static_cast<size_t>(grade)];
  return (c.right + weight * prior) / (c.seen + weight);
}

double Acceptance::overall(double prior, double weight) const {
  Count sum;
  for (const Count& c : counts_) {
    sum.seen += c.seen;
    sum.right += c.right;
  }
  return (sum.right + weight * prior) / (sum.seen + weight);
}

double Controller::rate(const RequestState& state, size_t source, int grade) const {
  const double all = all_[source].rate(grade, kGuess[grade], kGuessWeight);
  return state.acceptance[source].rate(grade, all, kPriorWeight);
}

double Controller::acceptance(const RequestState& state, size_t source) const {
  return state.acceptance[source].overall(all_[source].overall(kGuessOverall, kGuessWeight), kPriorWeight);
}

double Controller::right(const RequestState& state, size_t source) const {
  double right = 1;
  for (const uint8_t grade : state.drafts[source].grades) right *= rate(state, source, grade);
  return right;
}

double Controller::gains_of(const RequestState& state, size_t source, std::vector<double>& gains) const {
  gains.clear();
  double right = 1, sum = 0;
  for (const uint8_t grade : state.drafts[source].grades) {
    right *= rate(state, source, grade);
    gains.push_back(right);
    sum += right;
  }
  return sum;
}

double Controller::corrected(int64_t requests, int64_t drafted, const Seconds& seconds) const {
  const double plain = correction_[range_of(requests)], mine = correction_[range_of(requests + drafted)];
  if (drafted > 0 && mine == 0) {
    const double tried = seconds(0) * (1.0 + kUnknownRow * static_cast<double>(drafted));
    return (plain > 0 ? plain : 1.0) * std::min(tried, seconds(drafted));
  }
  return seconds(drafted) * (mine > 0 ? mine : 1.0);
}

double Controller::plan(std::span<const Entry> entries, int64_t requests, const Seconds& seconds, int64_t most_rows) {
  choices_.clear();
  double tokens = static_cast<double>(requests);
  int64_t rows = 0;
  for (const Entry& e : entries) {
    RequestState& s = *e.state;
    double best = 0;
    s.source = -1;
    for (size_t source = 0; source < kSources; ++source) {
      const double sum = gains_of(s, source, gains_);
      if (sum <= best) continue;
      best = sum;
      s.source = static_cast<int>(source);
      std::swap(gains_, best_gains_);
    }
    s.length = 0;
    if (s.source < 0) continue;
    for (size_t i = 0; i < best_gains_.size(); ++i) {
      if (e.fixed == 0) {
        choices_.push_back({best_gains_[i], &s});
      } else if (static_cast<int64_t>(i) < e.fixed && rows < most_rows) {
        ++s.length;
        ++rows;
        tokens += best_gains_[i];
      }
    }
  }
  // A stable order, so that a request's tokens stay in theirs: gains never rise along a draft.
  std::stable_sort(choices_.begin(), choices_.end(), [](const Choice& a, const Choice& b) { return a.gain > b.gain; });
  const double plain = corrected(requests, rows, seconds);
  if (!(plain > 0)) return 0;
  double best_rate = kWorth * tokens / plain, promised = tokens / plain;
  size_t best = 0;
  for (size_t i = 0; i < choices_.size() && rows + static_cast<int64_t>(i) < most_rows; ++i) {
    tokens += choices_[i].gain;
    const double now = tokens / corrected(requests, rows + static_cast<int64_t>(i) + 1, seconds);
    if (now <= best_rate) continue;
    best_rate = promised = now;
    best = i + 1;
  }
  for (size_t i = 0; i < best; ++i) ++choices_[i].state->length;
  return promised;
}

void Controller::observe(RequestState& state, std::span<const int32_t> drawn) {
  for (size_t source = 0; source < kSources; ++source) {
    const Draft& d = state.drafts[source];
    for (size_t i = 0; i < std::min(d.tokens.size(), drawn.size()); ++i) {
      const bool right = d.tokens[i] == drawn[i];
      state.acceptance[source].observe(d.grades[i], right);
      all_[source].observe(d.grades[i], right);
      if (!right) break;
    }
  }
}

void Controller::measured(int64_t requests, int64_t drafted, double predicted, double seconds) {
  if (!(predicted > 0 && seconds > 0 && std::isfinite(seconds))) return;
  const double ratio = std::clamp(seconds / predicted, 1.0 / kMostCorrection, kMostCorrection);
  // What was wrong once need not be: corrections that are not renewed fade.
  for (double& other : correction_) other += other > 0 ? kFade * (1.0 - other) : 0.0;
  double& c = correction_[range_of(requests + drafted)];
  c = c > 0 ? c + kFollow * (ratio - c) : ratio;
}

}  // namespace toccata::spec
