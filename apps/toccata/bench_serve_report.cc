#include <algorithm>
#include <cstdio>

#include <boost/json.hpp>

#include "bench_serve.h"

namespace toccata::cli {
namespace json = boost::json;

namespace {

constexpr double kShares[] = {50, 90, 95, 99, 100};

double percentile(const std::vector<double>& sorted, double p) {
  if (sorted.empty()) return 0;
  const double k = static_cast<double>(sorted.size() - 1) * p / 100;
  const size_t low = static_cast<size_t>(k), high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (k - static_cast<double>(low));
}

struct Row {
  const char* name;
  std::vector<double> ms;
};

struct Summary {
  Row ttft{"TTFT", {}}, itl{"ITL", {}}, tpot{"TPOT", {}}, total{"end to end", {}};
  int64_t good = 0, errors = 0, within = 0, prompt = 0, output = 0, cached = 0;
};

void add(Summary& sum, const Sample& s, const LoadOptions& o) {
  if (!s.error.empty() || s.arrivals.empty()) {
    ++sum.errors;
    return;
  }
  ++sum.good;
  sum.prompt += s.prompt_tokens;
  sum.output += s.output_tokens;
  sum.cached += s.cached_tokens;
  const double ttft = (s.arrivals.front() - s.begin) * 1e3;
  double worst = 0;
  for (size_t i = 1; i < s.arrivals.size(); ++i) {
    const double gap = (s.arrivals[i] - s.arrivals[i - 1]) * 1e3;
    sum.itl.ms.push_back(gap);
    worst = std::max(worst, gap);
  }
  sum.ttft.ms.push_back(ttft);
  sum.total.ms.push_back((s.end - s.begin) * 1e3);
  if (s.output_tokens > 1) {
    sum.tpot.ms.push_back((s.arrivals.back() - s.arrivals.front()) * 1e3 / static_cast<double>(s.output_tokens - 1));
  }
  const bool kept = (o.slo_ttft <= 0 || ttft <= static_cast<double>(o.slo_ttft)) &&
                    (o.slo_itl <= 0 || worst <= static_cast<double>(o.slo_itl));
  sum.within += kept ? 1 : 0;
}

json::object row_json(const Row& row) {
  json::object o;
  double sum = 0;
  for (const double x : row.ms) sum += x;
  o["mean"] = row.ms.empty() ? 0 : sum / static_cast<double>(row.ms.size());
  for (const double p : kShares) {
    o[p == 100 ? std::string("max") : "p" + std::to_string(static_cast<int>(p))] = percentile(row.ms, p);
  }
  return o;
}

std::string row_text(const Row& row) {
  char line[160];
  int n = std::snprintf(line, sizeof line, "%-12s", row.name);
  for (const double p : kShares)
    n += std::snprintf(line + n, sizeof line - static_cast<size_t>(n), " %10.1f", percentile(row.ms, p));
  return std::string(line) + "\n";
}

}  // namespace

std::string load_report(const LoadOptions& o, const std::vector<Sample>& samples, double wall) {
  Summary sum;
  std::string first_error;
  for (const Sample& s : samples) {
    add(sum, s, o);
    if (first_error.empty()) first_error = s.error;
  }
  for (Row* row : {&sum.ttft, &sum.itl, &sum.tpot, &sum.total}) std::sort(row->ms.begin(), row->ms.end());
  const double output_rate = static_cast<double>(sum.output) / wall, goodput = static_cast<double>(sum.within) / wall;
  if (o.json) {
    json::object out{{"requests", samples.size()},
                     {"completed", sum.good},
                     {"errors", sum.errors},
                     {"seconds", wall},
                     {"prompt_tokens", sum.prompt},
                     {"cached_tokens", sum.cached},
                     {"output_tokens", sum.output},
                     {"requests_per_second", static_cast<double>(sum.good) / wall},
                     {"output_tokens_per_second", output_rate},
                     {"goodput_requests_per_second", goodput},
                     {"ttft_ms", row_json(sum.ttft)},
                     {"itl_ms", row_json(sum.itl)},
                     {"tpot_ms", row_json(sum.tpot)},
                     {"e2e_ms", row_json(sum.total)}};
    if (!first_error.empty()) out["first_error"] = first_error;
    return json::serialize(out) + "\n";
  }
  char head[400];
  std::snprintf(head, sizeof head,
                "%lld of %zu requests in %.1f s, %lld errors; prompt %lld tokens (%lld cached), answers %lld\n"
                "%.1f tokens/s, %.2f requests/s, goodput %.2f requests/s\n\n%-12s %10s %10s %10s %10s %10s\n",
                static_cast<long long>(sum.good), samples.size(), wall, static_cast<long long>(sum.errors),
                static_cast<long long>(sum.prompt), static_cast<long long>(sum.cached),
                static_cast<long long>(sum.output), output_rate, static_cast<double>(sum.good) / wall, goodput, "ms",
                "p50", "p90", "p95", "p99", "max");
  std::string out = head;
  for (const Row* row : {&sum.ttft, &sum.itl, &sum.tpot, &sum.total}) out += row_text(*row);
  if (!first_error.empty()) out += "first error: " + first_error + "\n";
  return out;
}

}  // namespace toccata::cli
