#include "sampling/pipeline.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/exact_math.h"

namespace toccata {
namespace {

// The natural log of the share below which a token is dropped before its exponential is taken. A row of 2^20
// tokens below e^-52 holds less than 2^20 * 2^-75 = 2^-55 in all, less than the 2^-53 grid of the draw resolves.
constexpr double kNegligible = -52.0;

double total_weight(std::span<const Candidate> c) {
  double sum = 0;
  for (const Candidate& x : c) sum += x.weight;
  return sum;
}

// ln of a share relative to the best one, at this temperature. inf - inf (several +infinity) counts as equal.
double log_share(float logit, float best, double temperature) {
  return logit == best ? 0.0 : (static_cast<double>(logit) - static_cast<double>(best)) / temperature;
}

// All tokens that can matter, in id order, with weights; those below e^floor of the best are left out.
void weigh_all(std::span<const float> logits, double temperature, double floor, std::vector<Candidate>& out) {
  out.clear();
  const float best = logits[static_cast<size_t>(argmax(logits))];
  if (!(best > -std::numeric_limits<float>::infinity())) return;
  constexpr size_t kBlock = 256;
  double shares[kBlock];
  for (size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const size_t end = std::min(begin + kBlock, logits.size()), had = out.size();
    size_t n = 0;
    for (size_t i = begin; i < end; ++i) {
      const double share = log_share(logits[i], best, temperature);
      if (!(share >= floor)) continue;
      shares[n++] = share;
      out.push_back({logits[i], static_cast<int32_t>(i), 0.0});
    }
    exact::exp(shares, shares, n);
    for (size_t i = 0; i < n; ++i) out[had + i].weight = shares[i];
  }
}

void weigh_ranked(double temperature, std::vector<Candidate>& ranked) {
  for (Candidate& c : ranked) c.weight = exact::exp(log_share(c.logit, ranked.front().logit, temperature));
  while (!ranked.empty() && !(ranked.back().weight > 0)) ranked.pop_back();
}

void keep_typical(double mass, std::vector<Candidate>& c) {
  struct Typical {
    double distance;
    Candidate candidate;
  };
  const double total = total_weight(c);
  const double log_total = exact::log(total);
  double entropy = 0;
  for (const Candidate& x : c) entropy += x.weight / total * (log_total - exact::log(x.weight));
  std::vector<Typical> all;
  all.reserve(c.size());
  for (const Candidate& x : c) all.push_back({std::fabs(log_total - exact::log(x.weight) - entropy), x});
  const auto closer = [](const Typical& a, const Typical& b) {
    return a.distance != b.distance ? a.distance < b.distance : ranks_before(a.candidate, b.candidate);
  };
  double held = 0;
  const size_t kept = visit_in_order(std::span(all), closer, [&](const Typical& t) {
    held += t.candidate.weight;
    return held >= mass * total;
  });
  c.clear();
  for (size_t i = 0; i < kept; ++i) c.push_back(all[i].candidate);
  std::sort(c.begin(), c.end(), ranks_before);
}

void keep_top_p(double mass, std::vector<Candidate>& c) {
  const double total = total_weight(c);
  double held = 0;
  const size_t kept = visit_in_order(std::span(c), ranks_before, [&](const Candidate& x) {
    held += x.weight;
    return held >= mass * total;
  });
  c.resize(kept);
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

void select_candidates(const SamplingParams& params, std::span<const float> logits, std::vector<Candidate>& out) {
  const double temperature = static_cast<double>(params.temperature);
  const bool typical = params.typical_p < 1.0f, top_p = params.top_p < 1.0f;
  if (params.top_k > 0 && static_cast<size_t>(params.top_k) < logits.size()) {
    best_of(logits, static_cast<size_t>(params.top_k), out);
    weigh_ranked(temperature, out);
  } else {
    // With nothing in between, min-p can be applied before the exponentials (a little low: they decide).
    double floor = kNegligible;
    if (!typical && !top_p && params.min_p > 0) {
      floor = std::max(floor, exact::log(static_cast<double>(params.min_p)) - 1e-6);
    }
    weigh_all(logits, temperature, floor, out);
  }
  if (out.empty()) return;
  if (typical) keep_typical(static_cast<double>(params.typical_p), out);
  if (top_p) keep_top_p(static_cast<double>(params.top_p), out);
  if (params.min_p > 0) keep_min_p(static_cast<double>(params.min_p), out);
}

int32_t draw(std::span<Candidate> candidates, double u) {
  TOCCATA_CHECK(!candidates.empty());
  const double target = u * total_weight(candidates);
  double held = 0;
  int32_t token = candidates.front().token;
  const auto reached = [&](const Candidate& c) {
    // Rounding may leave the sum a little below the total: then the last one with weight is drawn.
    if (c.weight > 0) token = c.token;
    held += c.weight;
    return held > target;
  };
  // Most draws end among the few heavy ones. A higher rank never weighs less, so they are a front of the order, and
  // setting them apart costs one look at each candidate instead of a selection among all of them.
  double best = 0;
  for (const Candidate& c : candidates) best = std::max(best, c.weight);
  const auto light = std::partition(candidates.begin(), candidates.end(),
                                    [bar = best * 0x1p-12](const Candidate& c) { return c.weight >= bar; });
  const auto heavy = static_cast<size_t>(light - candidates.begin());
  visit_in_order(candidates.first(heavy), ranks_before, reached);
  if (!(held > target)) visit_in_order(candidates.subspan(heavy), ranks_before, reached);
  return token;
}

}  // namespace toccata
