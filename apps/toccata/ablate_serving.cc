// Chunked prefill, and all optimizations together: answers that run while a long prompt arrives.
#include <algorithm>
#include <array>

#include "ablate_engine.h"
#include "ablate_takes.h"
#include "bench_tests.h"
#include "interrupt.h"
#include "loaded_model.h"

namespace toccata::cli {
namespace {

constexpr int64_t kAfter = 16;       // tokens that each stream has when the long prompt arrives
constexpr int64_t kPrompt = 64;      // tokens of the streams' prompts
constexpr int64_t kLongAnswer = 8;   // tokens
constexpr double kKeptOfAll = 0.25;  // of the KV tokens, in the row of all together

struct Scene {
  std::vector<Request> streams;
  Request long_prompt;
};

std::vector<int32_t> slice(const std::vector<int32_t>& ids, int64_t begin, int64_t count) {
  std::vector<int32_t> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(ids[static_cast<size_t>(begin + i) % ids.size()]);
  return out;
}

Result<Scene> scene_of(const AblationSetup& setup) {
  const Result<std::unique_ptr<LoadedModel>> text = load_text_side(setup.model);
  if (!text) return tl::unexpected(text.error());
  const std::vector<int32_t> ids =
      (*text)->tokenizer->encode(setup.text, {.parse_special = false, .add_special = true});
  if (ids.empty()) return fail(ErrorCode::kInvalidArgument, "the text has no tokens");
  Scene scene;
  const auto request = [&](int64_t begin, int64_t prompt, int64_t answer) {
    Request r;
    r.prompt = slice(ids, begin, prompt);
    r.max_tokens = answer;
    r.ignore_eos = true;
    r.sampling.temperature = 0;
    return r;
  };
  // A stream reads a part of the text twice, so that it has something to copy.
  for (int64_t s = 0; s < setup.streams; ++s) {
    Request r = request(97 * s, kPrompt / 2, setup.answer);
    r.prompt.insert(r.prompt.end(), r.prompt.begin(), r.prompt.begin() + kPrompt / 2);
    scene.streams.push_back(std::move(r));
  }
  scene.long_prompt = request(7, setup.long_prompt, kLongAnswer);
  return scene;
}

EngineOptions plain(const AblationSetup& setup) {
  EngineOptions o;
  o.model = setup.model;
  o.threads = static_cast<int>(setup.threads);
  o.max_sequences = setup.streams + 1;
  o.context = std::max(setup.long_prompt + kLongAnswer, kPrompt + setup.answer) + 64;
  o.kv_memory = 0;
  o.prefix_caching = false;
  return o;
}

struct Take {
  std::vector<double> gaps;                         // of the streams, ms
  std::vector<std::pair<double, double>> timeline;  // seconds since the long prompt came, gap in ms
  double first_token_ms = 0, tokens_per_second = 0;
};

Result<Take> take(const EngineOptions& options, const Scene& scene) {
  const Result<std::unique_ptr<Engine>> engine = Engine::start(options);
  if (!engine) return tl::unexpected(engine.error());
  const Result<std::vector<EngineAnswer>> answers = answers_of(**engine, scene.streams, scene.long_prompt, kAfter);
  if (!answers) return tl::unexpected(answers.error());
  Take t;
  if (answers->size() <= scene.streams.size()) return t;  // interrupted
  const EngineAnswer& last = answers->back();
  t.first_token_ms = last.first_token_ms();
  double begin = last.submitted, end = last.submitted, tokens = 0;
  for (const EngineAnswer& a : *answers) {
    begin = std::min(begin, a.submitted);
    if (!a.arrivals.empty()) end = std::max(end, a.arrivals.back());
    tokens += static_cast<double>(a.tokens.size() + a.report.prompt_tokens);
    if (&a == &last) continue;
    for (size_t i = 1; i < a.arrivals.size(); ++i) {
      const double gap = (a.arrivals[i] - a.arrivals[i - 1]) * 1e3;
      t.gaps.push_back(gap);
      t.timeline.emplace_back(a.arrivals[i] - begin, gap);
    }
  }
  std::sort(t.timeline.begin(), t.timeline.end());
  t.tokens_per_second = end > begin ? tokens / (end - begin) : 0;
  return t;
}

struct Figure {
  const char* metric;
  const char* unit;
  bool smaller;
  double (*of)(const Take&);
};
const Figure kFigures[] = {
    {"ITL mean of running streams", "ms", true, [](const Take& t) { return mean(t.gaps); }},
    {"ITL p99", "ms", true, [](const Take& t) { return percentile_of(t.gaps, 0.99); }},
    {"longest gap", "ms", true, [](const Take& t) { return percentile_of(t.gaps, 1.0); }},
    {"ITL standard deviation", "ms", true, [](const Take& t) { return deviation_of(t.gaps); }},
    {"TTFT of the long prompt", "ms", true, [](const Take& t) { return t.first_token_ms; }},
    {"prompt and answer tokens", "tokens/s", false, [](const Take& t) { return t.tokens_per_second; }}};

Status compare(const AblationSetup& setup, const EngineOptions& off, const EngineOptions& on, const AblationRow& row,
               const char* title, AblationReport& report) {
  const Result<Scene> scene = scene_of(setup);
  if (!scene) return tl::unexpected(scene.error());
  std::vector<AblationRow> rows(std::size(kFigures), row);
  AblationPlot plot{title, "seconds", "ms between two tokens of a stream", {{"off", {}}, {"on", {}}}};
  for (int64_t pair = 0; pair < setup.pairs; ++pair) {
    const Result<Take> a = take(off, *scene), b = take(on, *scene);
    if (!a || !b) return tl::unexpected(a ? b.error() : a.error());
    if (interrupted()) return {};
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i].off.push_back(kFigures[i].of(*a));
      rows[i].on.push_back(kFigures[i].of(*b));
    }
    if (pair == 0) plot.series[0].points = a->timeline, plot.series[1].points = b->timeline;
    setup.progress(row.optimization.c_str());
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].metric = kFigures[i].metric;
    rows[i].unit = kFigures[i].unit;
    rows[i].smaller_is_better = kFigures[i].smaller;
    report.rows.push_back(std::move(rows[i]));
  }
  report.plots.push_back(std::move(plot));
  return {};
}

}  // namespace

Status ablate_chunks(const AblationSetup& setup, AblationReport& report) {
  EngineOptions off = plain(setup);
  off.chunked_prefill = false;
  const AblationRow row{
      "chunked prefill", "prefill beside decode", "head-of-line blocking", "", "", true, {}, {}, 0, ""};
  return compare(setup, off, plain(setup), row, "Chunked prefill: gaps of running streams", report);
}

Status ablate_all(const AblationSetup& setup, AblationReport& report) {
  EngineOptions off = plain(setup), on = plain(setup);
  off.chunked_prefill = false;
  off.attention = "naive";
  on.speculation.method = setup.draft.empty() ? SpecMethod::kNgram : SpecMethod::kAuto;
  on.draft_model = setup.draft;
  on.kv.name = "streaming";
  on.kv.budget = std::max<int64_t>(kPrompt + setup.answer + 64,
                                   static_cast<int64_t>(kKeptOfAll * static_cast<double>(setup.long_prompt)));
  on.cache_type_k = on.cache_type_v = "q8_0";
  const AblationRow row{"all together", "prefill and decode", "all", "", "", true, {}, {}, 0, ""};
  return compare(setup, off, on, row, "All together: gaps of running streams", report);
}

}  // namespace toccata::cli
