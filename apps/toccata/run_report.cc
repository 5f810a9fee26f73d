#include "run_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "json_reader.h"
#include "text/tokenizer/utf8_runs.h"

namespace toccata::cli {
namespace json = boost::json;
namespace {

double per_second(double count, double seconds) { return seconds > 0 ? count / seconds : 0.0; }

const char* finish_name(Finish f) {
  switch (f) {
    case Finish::kStop:
      return "stop";
    case Finish::kLength:
      return "length";
    case Finish::kContextFull:
      return "length (context full)";
    case Finish::kInterrupted:
      return "interrupted";
    case Finish::kOutputFailed:
      return "output failed";
  }
  return "";
}

json::object describe(const Tokenizer& tokenizer, int32_t token, float logprob) {
  return {{"token", token},
          {"text", to_valid_utf8(tokenizer.token_bytes(token))},
          {"logprob", json_number(static_cast<double>(logprob))}};
}

}  // namespace

double percentile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  const double rank = std::ceil(p * static_cast<double>(values.size()));
  const size_t at = std::clamp<size_t>(static_cast<size_t>(rank), 1, values.size()) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

void note_finish(const Generation& g, const LoadedModel& model) {
  if (g.finish == Finish::kContextFull) {
    std::fprintf(stderr,
                 "toccata run: the context of %lld tokens is full, so the answer ends here (raise it with -c)\n",
                 static_cast<long long>(model.context));
  } else if (g.finish == Finish::kInterrupted) {
    std::fputs("toccata run: interrupted\n", stderr);
  }
}

void print_summary(const LoadedModel& model, const Generation& g, uint64_t seed) {
  const double decode = std::accumulate(g.gaps.begin(), g.gaps.end(), 0.0);
  const int64_t read = g.prompt_tokens - g.cached_tokens;
  const std::string context = model.context == kv::kMostPositions ? "without end" : std::to_string(model.context);
  std::fprintf(stderr, "load    %8.3f s   %s, %d threads, context %s\n", model.load_seconds,
               std::string(model.runner->isa()).c_str(), model.threads, context.c_str());
  std::fprintf(stderr, "prompt  %8.3f s   %lld tokens", g.prompt_seconds, static_cast<long long>(g.prompt_tokens));
  if (g.first_token_seconds > 0) {  // else the prompt may have been read in part, and there was no first token
    std::fprintf(stderr, ", %.1f tokens/s, first token after %.3f s",
                 per_second(static_cast<double>(read), g.prompt_seconds), g.first_token_seconds);
  }
  if (g.cached_tokens > 0) std::fprintf(stderr, " (%lld from the cache)", static_cast<long long>(g.cached_tokens));
  std::fprintf(stderr, "\ndecode  %8.3f s   %zu tokens, %.1f tokens/s, ITL p50 %.1f ms, p99 %.1f ms\n", decode,
               g.tokens.size(), per_second(static_cast<double>(g.gaps.size()), decode), percentile(g.gaps, 0.5) * 1e3,
               percentile(g.gaps, 0.99) * 1e3);
  if (g.drafts > 0) {
    const double drafts = static_cast<double>(g.drafts), accepted = static_cast<double>(g.accepted_tokens);
    std::fprintf(stderr,
                 "drafts  %8lld     %lld of %lld drafted tokens accepted (%.1f %%), %.2f tokens per draft verified\n",
                 static_cast<long long>(g.drafts), static_cast<long long>(g.accepted_tokens),
                 static_cast<long long>(g.drafted_tokens), 100 * accepted / static_cast<double>(g.drafted_tokens),
                 1 + accepted / drafts);
  }
  std::fprintf(stderr, "end     %s, seed %llu\n", finish_name(g.finish), static_cast<unsigned long long>(seed));
}

std::string logprob_line(const Tokenizer& tokenizer, const TokenOutput& sampled) {
  json::object line = describe(tokenizer, sampled.token, sampled.logprob);
  json::array top;
  for (const TokenChoice& t : sampled.top) top.push_back(describe(tokenizer, t.token, t.logprob));
  line["top"] = std::move(top);
  return json::serialize(line);
}

}  // namespace toccata::cli
