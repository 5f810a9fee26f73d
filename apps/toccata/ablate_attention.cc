// FlashAttention off and on: the time to the first token of a prompt, and the memory that reading it takes.
#include <malloc.h>

#include <cstdlib>
#include <fstream>
#include <memory>

#include "ablate_takes.h"
#include "base/clock.h"
#include "feed.h"
#include "interrupt.h"
#include "loaded_model.h"

namespace toccata::cli {
namespace {

// A line of /proc/self/status in MiB; 0 where the system has none.
double status_mib(const char* name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) return std::strtod(line.c_str() + std::string(name).size() + 1, nullptr) / 1024.0;
  }
  return 0;
}

// Peak resident memory since begin_peak(), above what was resident there.
double begin_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";  // VmHWM starts anew (proc(5))
  return status_mib("VmRSS");
}

struct Method {
  const char* name;
  std::unique_ptr<LoadedModel> model;
};

Result<double> first_token_ms(LoadedModel& m, std::span<const int32_t> tokens) {
  Session session(*m.runner, *m.pool, m.plan);
  const double begin = monotonic_seconds();
  const Result<bool> whole = feed(session, tokens, 512);
  if (!whole) return tl::unexpected(whole.error());
  return (monotonic_seconds() - begin) * 1e3;
}

Result<std::unique_ptr<LoadedModel>> load(const AblationSetup& setup, const char* attention) {
  ModelOptions options;
  options.path = setup.model;
  options.threads = setup.threads;
  options.attention = attention;
  LoadNeeds needs;
  needs.context = setup.lengths.back() + 1;
  return load_model(options, needs);
}

}  // namespace

Status ablate_attention(const AblationSetup& setup, AblationReport& report) {
  Method methods[] = {{"naive", nullptr}, {"flash", nullptr}};
  for (Method& m : methods) {
    Result<std::unique_ptr<LoadedModel>> loaded = load(setup, m.name);
    if (!loaded) return tl::unexpected(loaded.error());
    m.model = std::move(*loaded);
  }
  std::vector<int32_t> ids =
      methods[0].model->tokenizer->encode(setup.text, {.parse_special = false, .add_special = true});
  const size_t text = ids.size();
  for (size_t i = 0; text > 0 && std::ssize(ids) < setup.lengths.back(); ++i) ids.push_back(ids[i % text]);
  AblationPlot times{
      "FlashAttention: time to the first token", "tokens of the prompt", "ms", {{"naive", {}}, {"flash", {}}}};
  AblationPlot memory{
      "FlashAttention: memory to read the prompt", "tokens of the prompt", "MiB", {{"naive", {}}, {"flash", {}}}};
  AblationRow peak{"FlashAttention",
                   "prefill",
                   "memory traffic",
                   "memory to read " + std::to_string(setup.lengths.back()) + " tokens",
                   "MiB",
                   true,
                   {},
                   {},
                   0,
                   ""};
  for (const int64_t length : setup.lengths) {
    AblationRow row{"FlashAttention",
                    "prefill",
                    "memory traffic",
                    "TTFT at " + std::to_string(length) + " tokens",
                    "ms",
                    true,
                    {},
                    {},
                    0,
                    ""};
    double most[2] = {0, 0};
    for (int64_t pair = -1; pair < setup.pairs; ++pair) {  // the first round warms up and shows the memory
      for (size_t i = 0; i < 2; ++i) {
        if (interrupted()) return {};
        const double before = pair < 0 ? begin_peak() : 0;
        const Result<double> ms = first_token_ms(*methods[i].model, std::span(ids).first(static_cast<size_t>(length)));
        if (!ms) return tl::unexpected(ms.error());
        if (pair < 0) {
          most[i] = std::max(0.0, status_mib("VmHWM") - before);
        } else {
          (i == 0 ? row.off : row.on).push_back(*ms);
        }
      }
      setup.progress("FlashAttention");
    }
    const double medians[2] = {median_of(row.off), median_of(row.on)};
    for (size_t i = 0; i < 2; ++i) {
      times.series[i].points.emplace_back(static_cast<double>(length), medians[i]);
      memory.series[i].points.emplace_back(static_cast<double>(length), most[i]);
    }
    peak.off = {most[0]}, peak.on = {most[1]};
    report.rows.push_back(std::move(row));
  }
  report.rows.push_back(std::move(peak));
  report.plots.push_back(std::move(times));
  report.plots.push_back(std::move(memory));
  return {};
}

}  // namespace toccata::cli
