#include "sampling/pipeline.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/exact_math.h"

namespace toccata {
namespace {

// The natural log of the share below which a token is dropped before its exponential is taken. A row of 2^20
// tokens below e^-52 holds less than 2^20 * 2^-75 = 2^-55 in all, less than f64 resolves beside the best.
constexpr double kNegligible = -52.0;
constexpr size_t kFewForTopP = 256;  // top-p looks at so many of the best before it weighs them all

double total_weight(std::span<const Candidate> c) {
  double sum = 0;
  for (const Candidate& x : c) sum += x.weight;
  return sum;
}

// All tokens that can matter, in id order, with weights; those below e^floor of the best are left out.
void weigh_all(const LogitsRow& row, double temperature, double floor, std::vector<Candidate>& out) {
  out.clear();
  if (!(row.best > -std::numeric_limits<float>::infinity())) return;
  double shares[LogitsRow::kRun];
  for (size_t j = 0; j < row.tops.size(); ++j) {
    if (!(log_share(row.tops[j], row.best, temperature) >= floor)) continue;
    const std::span<const float> run = row.run(j);
    const size_t had = out.size();
    size_t n = 0;
    for (size_t i = 0; i < run.size(); ++i) {
      const double share = log_share(run[i], row.best, temperature);
      if (!(share >= floor)) continue;
      shares[n++] = share;
      out.push_back({run[i], static_cast<int32_t>(j * LogitsRow::kRun + i), share, 0.0});
    }
    exact::exp(shares, shares, n);
    for (size_t i = 0; i < n; ++i) out[had + i].weight = shares[i];
  }
}

void weigh_best(const LogitsRow& row, size_t k, double temperature, std::vector<Candidate>& out) {
  select_best(row, k, out);
  for (Candidate& c : out) {
    c.share = log_share(c.logit, row.best, temperature);
    c.weight = exact::exp(c.share);
  }
  std::erase_if(out, [](const Candidate& c) { return !(c.share >= kNegligible); });
}

void keep_typical(double mass, std::vector<Candidate>& c) {
  const double total = total_weight(c);
  const double log_total = exact::log(total);
  double entropy = 0;
  for (const Candidate& x : c) entropy += x.weight / total * (log_total - x.share);
  const auto distance = [=](const Candidate& x) { return std::fabs(log_total - x.share - entropy); };
  const auto closer = [=](const Candidate& a, const Candidate& b) {
    const double da = distance(a), db = distance(b);
    return da != db ? da < db : ranks_before(a, b);
  };
  keep_front(c, closer, mass * total);
}

// Weighs the row for top-p. The total needs no candidates, and the best few usually hold what is wanted of it.
void select_top_p(double mass, const LogitsRow& row, double temperature, std::vector<Candidate>& out) {
  if (std::isinf(row.best)) return weigh_all(row, temperature, kNegligible, out);
  const double total = total_weight(row, temperature), needed = mass * total;
  weigh_best(row, kFewForTopP, temperature, out);
  if (total_weight(out) < needed) {
    // Tokens below a floor with n e^floor <= total - needed hold less than what may be missing: none of them is needed.
    const double floor = exact::log((total - needed) / static_cast<double>(row.logits.size())) - 1e-6;
    weigh_all(row, temperature, std::max(kNegligible, floor), out);
  }
  keep_front(out, ranks_before, needed);
}

void keep_min_p(double share, std::vector<Candidate>& c) {
  double best = 0;
  for (const Candidate& x : c) best = std::max(best, x.weight);
  std::erase_if(c, [bar = share * best](const Candidate& x) { return x.weight < bar; });
}

}  // namespace

void adjust_logits(const SamplingParams& params, std::span<const int32_t> history, std::span<float> logits,
                   std::span<int32_t> counts) {
  const auto in_row = [&](int32_t t) { return t >= 0 && static_cast<size_t>(t) < logits.size(); };
  for (const auto& [token, bias] : params.logit_bias) {
    if (in_row(token)) logits[static_cast<size_t>(token)] += bias;
  }
  if (!params.has_penalties()) return;
  const size_t look = params.penalty_last_n < 0 ? history.size() : static_cast<size_t>(params.penalty_last_n);
  const auto window = history.last(std::min(look, history.size()));
  for (int32_t t : window) {
    if (in_row(t)) ++counts[static_cast<size_t>(t)];
  }
  for (int32_t t : window) {
    if (!in_row(t) || counts[static_cast<size_t>(t)] == 0) continue;
    float& l = logits[static_cast<size_t>(t)];
    const float n = static_cast<float>(counts[static_cast<size_t>(t)]);
    counts[static_cast<size_t>(t)] = 0;
    l = l > 0 ? l / params.repetition_penalty : l * params.repetition_penalty;
    l -= n * params.frequency_penalty + params.presence_penalty;
  }
}

void select_candidates(const SamplingParams& params, const LogitsRow& row, std::vector<Candidate>& out) {
  const double temperature = static_cast<double>(params.temperature);
  const double top_p = static_cast<double>(params.top_p), min_p = static_cast<double>(params.min_p);
  const bool typical = params.typical_p < 1.0f;
  const bool top_k = params.top_k > 0 && static_cast<size_t>(params.top_k) < row.logits.size();
  if (top_k) {
    weigh_best(row, static_cast<size_t>(params.top_k), temperature, out);
  } else if (!typical && top_p < 1.0) {
    select_top_p(top_p, row, temperature, out);
  } else {
    // With nothing in between, min-p can be applied before the exponentials (a little low: they decide).
    const bool early = !typical && min_p > 0;
    const double floor = early ? std::max(kNegligible, exact::log(min_p) - 1e-6) : kNegligible;
    weigh_all(row, temperature, floor, out);
  }
  if (out.empty()) return;
  if (typical) keep_typical(static_cast<double>(params.typical_p), out);
  if (top_p < 1.0 && (top_k || typical)) keep_front(out, ranks_before, top_p * total_weight(out));
  if (min_p > 0) keep_min_p(min_p, out);
}

}  // namespace toccata
