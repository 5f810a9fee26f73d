#include "eval_perplexity.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "feed.h"
#include "interrupt.h"
#include "loaded_model.h"
#include "output.h"
#include "sampling/candidates.h"

namespace toccata::cli {
namespace {

constexpr int64_t kDefaultWindow = 512;
constexpr int64_t kLogitRows = 64;

struct Tally {
  int64_t n = 0;
  double sum = 0, squares = 0;  // of -ln p per token
  double perplexity() const { return std::exp(sum / static_cast<double>(n)); }
  // d exp(m) = exp(m) dm, dm = the standard error of the mean.
  double error() const {
    if (n < 2) return 0;
    const double mean = sum / static_cast<double>(n);
    const double variance = std::max(0.0, squares / static_cast<double>(n) - mean * mean);
    return perplexity() * std::sqrt(variance / static_cast<double>(n - 1));
  }
};

Result<bool> score_window(LoadedModel& m, const std::vector<int32_t>& ids, int64_t chunk, Tally& tally) {
  const auto on_row = [&](int64_t position, std::span<const float> row) {
    const size_t next = static_cast<size_t>(position) + 1;
    if (next >= ids.size()) return;
    const double nll = log_sum_exp(row) - static_cast<double>(row[static_cast<size_t>(ids[next])]);
    tally.n += 1;
    tally.sum += nll;
    tally.squares += nll * nll;
  };
  Session session(*m.runner, *m.pool, m.plan);
  return feed(session, ids, chunk, on_row);
}

}  // namespace

Status eval_perplexity(const ModelOptions& options, const std::string& text_path) {
  Result<std::string> text = read_text(text_path);
  if (!text) return tl::unexpected(text.error());
  LoadNeeds needs;
  needs.context = options.context > 0 ? options.context : kDefaultWindow;
  needs.logit_rows = kLogitRows;
  Result<std::unique_ptr<LoadedModel>> loaded = load_model(options, needs);
  if (!loaded) return tl::unexpected(loaded.error());
  LoadedModel& m = **loaded;
  const std::vector<TokenId> ids = m.tokenizer->encode(*text, {.parse_special = false, .add_special = false});
  const bool bos = m.tokenizer->add_bos() && m.tokenizer->bos() >= 0;
  const size_t step = static_cast<size_t>(needs.context) - (bos ? 1 : 0);
  if (step < 2) return fail(ErrorCode::kInvalidArgument, "-c must be at least 2 tokens and a BOS for a perplexity");

  Tally tally;
  int64_t windows = 0;
  const bool show = isatty(STDERR_FILENO) == 1;
  for (size_t at = 0; at < ids.size() && !interrupted(); at += step, ++windows) {
    std::vector<int32_t> window;
    if (bos) window.push_back(m.tokenizer->bos());
    const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(at);
    window.insert(window.end(), begin, begin + static_cast<std::ptrdiff_t>(std::min(step, ids.size() - at)));
    const Result<bool> whole = score_window(m, window, options.chunk, tally);
    if (!whole) return tl::unexpected(whole.error());
    if (show && tally.n > 0) {
      std::fprintf(stderr, "\r%zu of %zu tokens, PPL %.4f", std::min(at + step, ids.size()), ids.size(),
                   tally.perplexity());
    }
  }
  if (show) std::fputs("\r\x1b[K", stderr);
  if (interrupted()) return {};  // of part of the text it would not be the perplexity asked for
  if (tally.n == 0) return fail(ErrorCode::kInvalidFile, quoted(text_path) + " has too few tokens for a perplexity");
  char line[200];
  std::snprintf(line, sizeof line, "PPL %.4f +- %.4f (nll %.4f, %lld tokens in %lld windows of %lld)\n",
                tally.perplexity(), tally.error(), tally.sum, static_cast<long long>(tally.n),
                static_cast<long long>(windows), static_cast<long long>(needs.context));
  return write_stdout(line);
}

}  // namespace toccata::cli
