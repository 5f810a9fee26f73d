// `toccata eval --divergence TEXT`: what the cache's type, rotation and policy cost, against the same model with an f16
// cache of all tokens.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "eval_perplexity.h"
#include "feed.h"
#include "interrupt.h"
#include "loaded_model.h"
#include "output.h"
#include "sampling/candidates.h"

namespace toccata::cli {
namespace {

constexpr int64_t kDefaultWindow = 512;
constexpr int64_t kLogitRows = 64;

struct Divergence {
  std::vector<double> kl;  // by position
  int64_t agree = 0;       // positions with the same most likely token
  int64_t scored = 0;      // positions with a next token
  double base_nll = 0, nll = 0;

  void add(std::span<const float> p, std::span<const float> q, int32_t next) {
    const double lp = log_sum_exp(p), lq = log_sum_exp(q);
    double sum = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      const double log_p = static_cast<double>(p[i]) - lp;
      if (log_p > -40.0) sum += std::exp(log_p) * (log_p - (static_cast<double>(q[i]) - lq));
    }
    kl.push_back(sum);
    agree += std::max_element(p.begin(), p.end()) - p.begin() == std::max_element(q.begin(), q.end()) - q.begin();
    if (next < 0) return;
    ++scored;
    base_nll += lp - static_cast<double>(p[static_cast<size_t>(next)]);
    nll += lq - static_cast<double>(q[static_cast<size_t>(next)]);
  }
};

// Both models read the window in the same chunks; a chunk's rows of the first wait for those of the second. Under a
// policy only positions that see less than all count.
Status compare_window(LoadedModel& base, LoadedModel& other, const std::vector<int32_t>& ids, Divergence& sum) {
  Session a(*base.runner, *base.pool), b(*other.runner, *other.pool, other.plan);
  const int64_t n = static_cast<int64_t>(ids.size());
  for (int64_t at = 0; at < n && !interrupted(); at += kLogitRows) {
    const auto part =
        std::span(ids).subspan(static_cast<size_t>(at), static_cast<size_t>(std::min(kLogitRows, n - at)));
    std::vector<std::vector<float>> rows;
    Status s = a.append_with_logits(part, 0, kLogitRows, [&rows](int64_t, std::span<const float> row) {
      rows.emplace_back(row.begin(), row.end());
    });
    if (!s) return s;
    s = b.append_with_logits(part, 0, kLogitRows, [&](int64_t position, std::span<const float> row) {
      if (other.plan.evicts() && !other.plan.evicted(position + 1)) return;
      const size_t next = static_cast<size_t>(position) + 1;
      sum.add(rows[static_cast<size_t>(position - at)], row, next < ids.size() ? ids[next] : -1);
    });
    if (!s) return s;
  }
  return {};
}

Status print(Divergence d) {
  if (d.kl.empty() || d.scored == 0)
    return fail(ErrorCode::kInvalidArgument, "the text has no tokens to compare, or none behind the KV budget");
  const double n = static_cast<double>(d.kl.size());
  const double mean = std::accumulate(d.kl.begin(), d.kl.end(), 0.0) / n;
  std::sort(d.kl.begin(), d.kl.end());
  const double scored = static_cast<double>(d.scored);
  char line[240];
  std::snprintf(
      line, sizeof line,
      "KL mean %.6f, median %.6f, 99 %% %.6f, max %.6f; same top token %.2f %%; PPL %.4f, f16 %.4f (%zu tokens)\n",
      mean, d.kl[d.kl.size() / 2], d.kl[d.kl.size() * 99 / 100], d.kl.back(), 100.0 * static_cast<double>(d.agree) / n,
      std::exp(d.nll / scored), std::exp(d.base_nll / scored), d.kl.size());
  return write_stdout(line);
}

}  // namespace

Result<DivergenceSummary> divergence_of(LoadedModel& base, LoadedModel& other, const std::vector<int32_t>& ids) {
  Divergence d;
  if (Status s = compare_window(base, other, ids, d); !s) return tl::unexpected(s.error());
  if (d.kl.empty() || d.scored == 0) return DivergenceSummary();
  const double scored = static_cast<double>(d.scored), n = static_cast<double>(d.kl.size());
  return DivergenceSummary{std::accumulate(d.kl.begin(), d.kl.end(), 0.0) / n, std::exp(d.nll / scored),
                           std::exp(d.base_nll / scored), std::ssize(d.kl)};
}

Status eval_divergence(const ModelOptions& options, const std::string& text_path) {
  Result<std::string> text = read_text(text_path);
  if (!text) return tl::unexpected(text.error());
  LoadNeeds needs;
  needs.context = options.context > 0 ? options.context : kDefaultWindow;
  needs.logit_rows = kLogitRows;
  ModelOptions plain = options;
  plain.k_type = plain.v_type = "f16";
  plain.kv_rotate = "off";
  plain.kv_skip_layers.clear();
  plain.kv = KvPolicy();
  Result<std::unique_ptr<LoadedModel>> base = load_model(plain, needs);
  if (!base) return tl::unexpected(base.error());
  Result<std::unique_ptr<LoadedModel>> other = load_model(options, needs);
  if (!other) return tl::unexpected(other.error());
  const Tokenizer& tokenizer = *(*base)->tokenizer;
  const std::vector<TokenId> ids = tokenizer.encode(*text, {.parse_special = false, .add_special = false});
  const bool bos = tokenizer.add_bos() && tokenizer.bos() >= 0;
  const size_t step = static_cast<size_t>(std::max<int64_t>(1, needs.context - (bos ? 1 : 0)));
  Divergence sum;
  for (size_t at = 0; at < ids.size() && !interrupted(); at += step) {
    std::vector<int32_t> window;
    if (bos) window.push_back(tokenizer.bos());
    const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(at);
    window.insert(window.end(), begin, begin + static_cast<std::ptrdiff_t>(std::min(step, ids.size() - at)));
    if (Status s = compare_window(**base, **other, window, sum); !s) return s;
  }
  return interrupted() ? Status() : print(std::move(sum));
}

}  // namespace toccata::cli
