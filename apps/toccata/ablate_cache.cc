// KV compression and eviction: conversations that fit the same memory, how fast they run together, and what it costs in
// quality.
#include <algorithm>
#include <memory>

#include "ablate_takes.h"
#include "bench_tests.h"
#include "eval_perplexity.h"
#include "interrupt.h"
#include "loaded_model.h"

namespace toccata::cli {
namespace {

constexpr int64_t kGenerated = 8, kLogitRows = 64;
constexpr float kBudgets[] = {0.125f, 0.25f, 0.5f};

struct Variant {
  std::string name, bottleneck, type, policy;
};
const Variant kVariants[] = {{"q8_0 KV cache", "KV memory and bandwidth", "q8_0", "full"},
                             {"q4_0 KV cache", "KV memory and bandwidth", "q4_0", "full"},
                             {"StreamingLLM, 25 %", "KV memory and bandwidth", "f16", "streaming"},
                             {"H2O, 25 %", "KV memory and bandwidth", "f16", "h2o"}};

ModelOptions options_of(const AblationSetup& setup, const std::string& type, const std::string& policy, double share) {
  ModelOptions o;
  o.path = setup.model;
  o.threads = setup.threads;
  o.k_type = o.v_type = type;
  o.kv.name = policy;
  if (o.kv.evicts())
    o.kv.budget = std::max<int64_t>(16, static_cast<int64_t>(share * static_cast<double>(setup.conversation)));
  return o;
}

Result<std::unique_ptr<LoadedModel>> load(const ModelOptions& options, int64_t context, int64_t sequences) {
  LoadNeeds needs;
  needs.context = context;
  needs.sequences = sequences;
  needs.logit_rows = std::max(kLogitRows, sequences);
  needs.most_rows = std::max<int64_t>(512, sequences);
  return load_model(options, needs);
}

// Decoding at the end of `batch` conversations, tokens per second.
Result<double> speed(const AblationSetup& setup, LoadedModel& m, int64_t batch) {
  const BenchTest test{.gen = kGenerated, .depth = setup.conversation - kGenerated, .batch = batch};
  const Result<BenchResult> r = run_bench_test(m, test, 512, 1, MachineLimits{1, 1, 1});
  if (!r) return tl::unexpected(r.error());
  return median_of(r->speeds());
}

class CacheTakes {
 public:
  CacheTakes(const AblationSetup& setup, AblationReport& report) : setup_(setup), report_(report) {}

  Status run() {
    Result<std::unique_ptr<LoadedModel>> base =
        load(options_of(setup_, "f16", "full", 1), setup_.conversation, setup_.conversations);
    if (!base) return tl::unexpected(base.error());
    base_ = std::move(*base);
    ids_ = base_->tokenizer->encode(setup_.text, {.parse_special = false, .add_special = true});
    ids_.resize(std::min(ids_.size(), static_cast<size_t>(setup_.conversation)));
    memory_ =
        static_cast<double>(base_->pool->layout().pool_block_bytes()) * static_cast<double>(base_->pool->capacity());
    for (const Variant& v : kVariants) {
      if (Status s = take(v); !s || interrupted()) return s;
    }
    report_.plots.push_back(std::move(throughput_));
    return budgets();
  }

 private:
  Status take(const Variant& v) {
    const ModelOptions options = options_of(setup_, v.type, v.policy, 0.25);
    const Result<std::unique_ptr<LoadedModel>> probe = load(options, setup_.conversation, 1);
    if (!probe) return tl::unexpected(probe.error());
    const double each = static_cast<double>((*probe)->pool->layout().pool_block_bytes()) *
                        static_cast<double>((*probe)->pool->capacity());
    const int64_t batch = std::max<int64_t>(1, static_cast<int64_t>(memory_ / each));
    const Result<std::unique_ptr<LoadedModel>> loaded = load(options, setup_.conversation, batch);
    if (!loaded) return tl::unexpected(loaded.error());
    const auto row = [&v](std::string metric, std::string unit, bool smaller) {
      return AblationRow{v.name, "decode", v.bottleneck, std::move(metric), std::move(unit), smaller, {}, {}, 0, ""};
    };
    AblationRow fits =
        row("conversations of " + std::to_string(setup_.conversation) + " tokens in the same memory", "", false);
    fits.off = {static_cast<double>(setup_.conversations)};
    fits.on = {static_cast<double>(batch)};
    fits.limit = memory_ / static_cast<double>(setup_.conversations) / each;
    fits.limit_note = "bytes of a conversation";
    AblationRow speeds = row("decode of all that fit", "tokens/s", false);
    for (int64_t pair = 0; pair < setup_.pairs && !interrupted(); ++pair) {
      const Result<double> off = speed(setup_, *base_, setup_.conversations), on = speed(setup_, **loaded, batch);
      if (!off || !on) return tl::unexpected(off ? on.error() : off.error());
      speeds.off.push_back(*off);
      speeds.on.push_back(*on);
      setup_.progress("KV cache");
    }
    const Result<DivergenceSummary> d = divergence_of(*base_, **loaded, ids_);
    if (!d) return tl::unexpected(d.error());
    AblationRow perplexity = row(v.policy == "full" ? "perplexity" : "perplexity behind the budget", "", true);
    AblationRow kl = row("KL divergence from an f16 cache of all tokens", "nats", true);
    perplexity.off = {d->base_perplexity}, perplexity.on = {d->perplexity};
    kl.off = {0}, kl.on = {d->kl};
    if (throughput_.series.empty()) {
      throughput_.series.push_back({"f16", {{static_cast<double>(setup_.conversations), median_of(speeds.off)}}});
    }
    throughput_.series.push_back({v.name, {{static_cast<double>(batch), median_of(speeds.on)}}});
    for (AblationRow* r : {&fits, &speeds, &perplexity, &kl}) report_.rows.push_back(std::move(*r));
    setup_.progress("KV cache");
    return {};
  }

  // Perplexity of the tokens behind the budget, over the budget.
  Status budgets() {
    AblationPlot plot{"Eviction: perplexity over the budget", "tokens kept", "perplexity ratio to all tokens", {}};
    for (const char* policy : {"streaming", "h2o"}) {
      AblationPlot::Series series{policy, {}};
      for (const float share : kBudgets) {
        if (interrupted()) return {};
        const ModelOptions options = options_of(setup_, "f16", policy, static_cast<double>(share));
        const Result<std::unique_ptr<LoadedModel>> loaded = load(options, setup_.conversation, 1);
        if (!loaded) return tl::unexpected(loaded.error());
        const Result<DivergenceSummary> d = divergence_of(*base_, **loaded, ids_);
        if (!d) return tl::unexpected(d.error());
        if (d->tokens > 0)
          series.points.emplace_back(static_cast<double>(options.kv.budget), d->perplexity / d->base_perplexity);
        setup_.progress("KV budget");
      }
      series.points.emplace_back(static_cast<double>(setup_.conversation), 1.0);
      plot.series.push_back(std::move(series));
    }
    report_.plots.push_back(std::move(plot));
    return {};
  }

  const AblationSetup& setup_;
  AblationReport& report_;
  std::unique_ptr<LoadedModel> base_;
  std::vector<int32_t> ids_;
  double memory_ = 0;
  AblationPlot throughput_{
      "KV cache: decode of all conversations that fit the same memory", "conversations", "tokens/s", {}};
};

}  // namespace

Status ablate_cache(const AblationSetup& setup, AblationReport& report) { return CacheTakes(setup, report).run(); }

}  // namespace toccata::cli
