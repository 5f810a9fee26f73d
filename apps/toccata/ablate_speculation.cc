// Speculative decoding off and on: one answer at a time, on a text to copy and, with a draft model, on one to go on
// with.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "ablate_engine.h"
#include "ablate_takes.h"
#include "bench_tests.h"
#include "interrupt.h"
#include "loaded_model.h"

namespace toccata::cli {
namespace {

constexpr int64_t kRead = 160, kAgain = 48;  // tokens of the text, and how many of them the prompt begins again
constexpr int64_t kRows[] = {1, 2, 3, 5, 9, 17};
constexpr int64_t kSweep[] = {1, 2, 4, 8};

struct Task {
  const char* name;
  SpecMethod method;
  std::vector<int32_t> prompt;
};

// v(k): a step of k rows, in steps of one.
class RowCosts {
 public:
  Status measure(const AblationSetup& setup) {
    ModelOptions options;
    options.path = setup.model;
    options.threads = setup.threads;
    LoadNeeds needs;
    needs.context = kRead + kAgain + kRows[std::size(kRows) - 1];
    needs.logit_rows = needs.most_rows = std::max<int64_t>(512, kRows[std::size(kRows) - 1]);
    const Result<std::unique_ptr<LoadedModel>> m = load_model(options, needs);
    if (!m) return tl::unexpected(m.error());
    for (const int64_t rows : kRows) {
      const Result<BenchResult> r =
          run_bench_test(**m, {.depth = kRead + kAgain, .rows = rows}, 512, 2, MachineLimits{1, 1, 1});
      if (!r) return tl::unexpected(r.error());
      seconds_[static_cast<double>(rows)] = r->step_seconds;
    }
    return {};
  }
  double of(double rows) const {
    const auto high = seconds_.lower_bound(rows);
    if (seconds_.empty() || high == seconds_.begin()) return 1;
    const auto low = std::prev(high);
    if (high == seconds_.end()) return low->second / seconds_.begin()->second;
    const double share = (rows - low->first) / (high->first - low->first);
    return (low->second + share * (high->second - low->second)) / seconds_.begin()->second;
  }

 private:
  std::map<double, double> seconds_;
};

double milliseconds(const EngineAnswer& a) {
  return a.arrivals.size() < 2
             ? 0
             : (a.arrivals.back() - a.arrivals.front()) * 1e3 / static_cast<double>(a.arrivals.size() - 1);
}

// Tokens over the time of the steps that gave them, in plain steps: those with a draft cost v(1 + its mean length).
// What drafting costs is left out.
double formula(const EngineAnswer& a, const RowCosts& v) {
  const double drafts = static_cast<double>(a.report.drafts), tokens = static_cast<double>(a.tokens.size());
  if (drafts == 0) return 1;
  const double plain = std::max(0.0, tokens - static_cast<double>(a.report.accepted_tokens) - drafts);
  return tokens / (plain + drafts * v.of(1 + static_cast<double>(a.report.drafted_tokens) / drafts));
}

class Takes {
 public:
  Takes(const AblationSetup& setup, AblationReport& report) : setup_(setup), report_(report) {}

  Status run() {
    if (Status s = costs_.measure(setup_); !s) return s;
    setup_.progress("speculation");
    const Result<std::unique_ptr<LoadedModel>> text = load_text_side(setup_.model);
    if (!text) return tl::unexpected(text.error());
    std::vector<int32_t> ids = (*text)->tokenizer->encode(setup_.text, {.parse_special = false, .add_special = true});
    if (std::ssize(ids) < kRead)
      return fail(ErrorCode::kInvalidArgument, "the text is shorter than " + std::to_string(kRead) + " tokens");
    ids.resize(static_cast<size_t>(kRead));
    std::vector<Task> tasks = {{"speculation, n-grams, copying", SpecMethod::kNgram, ids}};
    tasks[0].prompt.insert(tasks[0].prompt.end(), ids.begin(), ids.begin() + kAgain);
    if (!setup_.draft.empty()) tasks.push_back({"speculation, draft model, going on", SpecMethod::kModel, ids});
    EngineOptions options;
    options.model = setup_.model;
    options.draft_model = setup_.draft;
    options.threads = static_cast<int>(setup_.threads);
    options.max_sequences = 1;
    options.context = kRead + kAgain + setup_.drafted + 64;
    Result<std::unique_ptr<Engine>> engine = Engine::start(options);
    if (!engine) return tl::unexpected(engine.error());
    engine_ = std::move(*engine);
    for (const Task& task : tasks) {
      if (Status s = pairs(task); !s || interrupted()) return s;
      if (Status s = setup_.sweep_drafts ? sweep(task) : Status(); !s || interrupted()) return s;
    }
    return {};
  }

 private:
  Result<EngineAnswer> answer(const Task& task, SpecMethod method, int32_t drafted) {
    Request r;
    r.prompt = task.prompt;
    r.max_tokens = setup_.drafted;
    r.ignore_eos = true;
    r.sampling.temperature = 0;
    r.speculative = SpeculationParams{method, drafted};
    Result<std::vector<EngineAnswer>> answers = answers_of(*engine_, {std::move(r)});
    if (!answers) return tl::unexpected(answers.error());
    return std::move(answers->front());
  }

  Status pairs(const Task& task) {
    AblationRow itl{task.name,
                    "decode",
                    "weight reads per token",
                    "ITL mean",
                    "ms",
                    true,
                    {},
                    {},
                    0,
                    "E over the rows' cost, drafts free"};
    AblationRow speed{task.name, "decode",      "weight reads per token", "answer", "tokens/s", false, {}, {},
                      0,         itl.limit_note};
    AblationRow accepted{task.name, "decode", "weight reads per token", "drafted tokens accepted", "%", false, {}, {},
                         0,         ""};
    for (int64_t pair = -1; pair < setup_.pairs; ++pair) {  // the first one warms up
      const Result<EngineAnswer> off = answer(task, SpecMethod::kOff, 0), on = answer(task, task.method, 0);
      if (!off || !on) return tl::unexpected(off ? on.error() : off.error());
      if (interrupted()) return {};
      if (off->tokens != on->tokens) return fail(ErrorCode::kInternal, "speculation has changed the answer");
      setup_.progress("speculation");
      if (pair < 0) continue;
      itl.off.push_back(milliseconds(*off)), itl.on.push_back(milliseconds(*on));
      speed.off.push_back(1e3 / milliseconds(*off)), speed.on.push_back(1e3 / milliseconds(*on));
      const double drafted = static_cast<double>(on->report.drafted_tokens);
      accepted.off = {0};
      accepted.on = {drafted > 0 ? 100 * static_cast<double>(on->report.accepted_tokens) / drafted : 0};
      itl.limit = speed.limit = formula(*on, costs_);
    }
    for (AblationRow* row : {&itl, &speed, &accepted}) report_.rows.push_back(std::move(*row));
    return {};
  }

  Status sweep(const Task& task) {
    AblationPlot plot{std::string(task.name) + ": speed-up over the drafted tokens",
                      "drafted tokens per step",
                      "times plain decode",
                      {{"measured", {}}, {"formula, measured rows and acceptance", {}}}};
    for (const int64_t k : kSweep) {
      std::vector<double> ratios;
      double expected = 0;
      for (int64_t pair = 0; pair < setup_.pairs; ++pair) {
        const Result<EngineAnswer> off = answer(task, SpecMethod::kOff, 0),
                                   on = answer(task, task.method, static_cast<int32_t>(k));
        if (!off || !on) return tl::unexpected(off ? on.error() : off.error());
        if (interrupted()) return {};
        ratios.push_back(milliseconds(*off) / milliseconds(*on));
        expected = formula(*on, costs_);
        setup_.progress("speculation");
      }
      plot.series[0].points.emplace_back(static_cast<double>(k), median_of(ratios));
      plot.series[1].points.emplace_back(static_cast<double>(k), expected);
    }
    report_.plots.push_back(std::move(plot));
    return {};
  }

  const AblationSetup& setup_;
  AblationReport& report_;
  RowCosts costs_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace

Status ablate_speculation(const AblationSetup& setup, AblationReport& report) { return Takes(setup, report).run(); }

}  // namespace toccata::cli
