// `toccata bench ablate`: what each optimization does on this machine.
#include "bench_ablate.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "ablate_takes.h"
#include "base/clock.h"
#include "base/cpu_features.h"
#include "bench_limits.h"
#include "interrupt.h"
#include "kernels/dispatch.h"
#include "loaded_model.h"
#include "output.h"
#include "text/tokenizer/same_vocabulary.h"

namespace toccata::embedded {
extern const std::string_view ablation_text;  // docs/ARCHITECTURE.md
}

namespace toccata::cli {
namespace {

struct Options {
  std::string model, draft, text, from, out = "toccata-ablation";
  int64_t threads = 0, pairs = 0;
  bool quick = false;
};

void declare(ArgParser& parser, Options& o) {
  parser.text("-m,--model", o.model, "FILE", "GGUF model");
  parser.text("-md,--draft-model,--draft", o.draft, "FILE",
              "draft model of the same vocabulary, for speculation; absent: n-grams alone");
  parser.text("-f,--file", o.text, "FILE", "text that the model reads; absent: a page of toccata's own documentation");
  parser.integer("-t,--threads", o.threads, 0, 1024, "threads; 0: one per CPU");
  parser.integer("-r,--pairs", o.pairs, 0, 1000,
                 "rounds of each comparison, off and on in turns; 0: 5, or 3 with --quick");
  parser.flag("--quick", o.quick, "shorter prompts and answers: below three minutes for a model of 135M on two CPUs");
  parser.text("-o,--out", o.out, "PREFIX", "write PREFIX.json with all takes and PREFIX.html with plots; '': neither");
  parser.text("--from", o.from, "FILE", "show the takes of such a JSON file again; measures nothing");
  parser.footer(
      "The ratio says how many times better it is with the optimization on: the median over the rounds, with the\n"
      "least and the most. The limit is what a formula allows for that ratio.\n"
      "\n"
      "Examples:\n"
      "  toccata bench ablate -m model.gguf --quick\n"
      "  toccata bench ablate -m target.gguf --draft-model small.gguf -o report\n"
      "  toccata bench ablate --from report.json -o ''");
}

// On a terminal; the time left is that of the units so far, times those to come.
class Progress {
 public:
  explicit Progress(int64_t units) : units_(units), on_(isatty(STDERR_FILENO) == 1), begin_(monotonic_seconds()) {}
  ~Progress() {
    if (on_) std::fputs("\r\x1b[K", stderr);
  }
  void step(const char* what) {
    ++done_;
    if (!on_) return;
    constexpr int kWidth = 30;
    const double share = std::min(1.0, static_cast<double>(done_) / static_cast<double>(units_));
    const double left = (monotonic_seconds() - begin_) * (1 - share) / share;
    const int filled = static_cast<int>(share * kWidth);
    std::fprintf(stderr, "\r\x1b[K[%-*s] %3.0f %%, %.0f s left, %s", kWidth,
                 std::string(static_cast<size_t>(filled), '#').c_str(), share * 100, left, what);
    std::fflush(stderr);
  }

 private:
  int64_t units_, done_ = 0;
  const bool on_;
  const double begin_;
};

AblationSetup setup_of(const Options& o) {
  AblationSetup s;
  s.model = o.model;
  s.draft = o.draft;
  s.threads = o.threads;
  s.text = embedded::ablation_text;
  s.pairs = o.pairs > 0 ? o.pairs : o.quick ? 3 : 5;
  if (o.quick) return s;
  s.lengths = {512, 1024, 2048, 4096};
  s.streams = 8;
  s.answer = 128;
  s.long_prompt = 3000;
  s.conversation = 1024;
  s.drafted = 192;
  s.sweep_drafts = true;
  return s;
}

// A model that was trained for less reads less.
Status fit_context(AblationSetup& s) {
  const Result<std::unique_ptr<LoadedModel>> text = load_text_side(s.model);
  if (!text) return tl::unexpected(text.error());
  const Result<model::ModelConfig> config = model::read_config(*(*text)->file);
  if (!config) return tl::unexpected(config.error());
  if (!s.draft.empty()) {  // now, not after minutes
    const Result<std::unique_ptr<LoadedModel>> draft = load_text_side(s.draft);
    if (!draft) return tl::unexpected(draft.error());
    if (Status same = check_same_vocabulary(*(*text)->tokenizer, s.model, *(*draft)->tokenizer, s.draft); !same)
      return same;
  }
  const int64_t most = config->context_length - 64;
  const int64_t ids = std::ssize((*text)->tokenizer->encode(s.text, {.parse_special = false, .add_special = true}));
  if (most < 64)
    return fail(ErrorCode::kInvalidArgument,
                "a context of " + std::to_string(config->context_length) + " tokens is too short to compare anything");
  for (int64_t& length : s.lengths) length = std::min(length, most);
  s.lengths.erase(std::unique(s.lengths.begin(), s.lengths.end()), s.lengths.end());
  s.long_prompt = std::min(s.long_prompt, most);
  s.answer = std::min(s.answer, most - 64);
  s.conversation = std::min({s.conversation, most, ids});
  s.drafted = std::min(s.drafted, most - 272);
  if (s.answer < 17 || s.conversation < 64 || s.drafted < 8)
    return fail(ErrorCode::kInvalidArgument,
                "the model's context or the text is too short: 512 tokens of context and 160 of text are needed");
  return {};
}

Result<AblationReport> measure(const AblationSetup& setup) {
  const Result<const kernels::KernelSet*> kernels = kernels::select_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  const int threads = setup.threads > 0 ? static_cast<int>(setup.threads) : cpu_features().logical_cpus;
  const Result<MachineLimits> limits = measure_limits(threads, (*kernels)->isa);
  if (!limits) return tl::unexpected(limits.error());
  AblationReport report;
  report.model = std::filesystem::path(setup.model).filename().string();
  char line[240];
  std::snprintf(line, sizeof line, "%s, read %.1f GB/s, int8 %.0f GOPS, f32 %.0f GFLOPS",
                cpu_features().model_name.c_str(), limits->read_bytes * 1e-9, limits->int8_ops * 1e-9,
                limits->f32_ops * 1e-9);
  report.machine = line;
  report.workload = std::to_string(setup.pairs) + " pairs of each; " + std::to_string(setup.streams) + " streams of " +
                    std::to_string(setup.answer) + " tokens beside a prompt of " + std::to_string(setup.long_prompt) +
                    "; conversations of " + std::to_string(setup.conversation) + " tokens";
  for (const auto take : {ablate_attention, ablate_chunks, ablate_speculation, ablate_cache, ablate_all}) {
    if (Status s = take(setup, report); !s) return tl::unexpected(s.error());
    if (interrupted()) break;
  }
  return report;
}

Status write_reports(const std::string& prefix, const AblationReport& report) {
  const std::pair<const char*, std::string> files[] = {{".json", ablation_json(report)},
                                                       {".html", ablation_html(report)}};
  for (const auto& [suffix, text] : files) {
    Result<OutputFile> file = OutputFile::create(prefix + suffix);
    if (!file) return tl::unexpected(file.error());
    if (Status s = file->write(text); !s) return s;
    if (Status s = file->close(); !s) return s;
  }
  return {};
}

// Before minutes of work. The files themselves are written at the end, whole.
Status check_folder(const std::string& prefix) {
  const std::string folder = std::filesystem::path(prefix).parent_path().string();
  if (prefix.empty() || access(folder.empty() ? "." : folder.c_str(), W_OK) == 0) return {};
  return fail(ErrorCode::kNotFound, "no report can be written as " + cli::quoted(prefix) + ": no folder to write to");
}

Result<AblationReport> report_of(const Options& o) {
  if (!o.from.empty()) {
    const Result<std::string> text = read_text(o.from);
    if (!text) return tl::unexpected(text.error());
    return ablation_from_json(*text, cli::quoted(o.from));
  }
  AblationSetup setup = setup_of(o);
  if (!o.text.empty()) {
    Result<std::string> text = read_text(o.text);
    if (!text) return tl::unexpected(text.error());
    setup.text = std::move(*text);
  }
  if (Status s = fit_context(setup); !s) return tl::unexpected(s.error());
  Progress progress(setup.units());
  setup.progress = [&progress](const char* what) { progress.step(what); };
  return measure(setup);
}

}  // namespace

int64_t AblationSetup::units() const {
  const int64_t tasks = draft.empty() ? 1 : 2;
  const int64_t attention = std::ssize(lengths) * (pairs + 1),
                speculation = 1 + tasks * (pairs + 1) + (sweep_drafts ? 4 * tasks * pairs : 0);
  return attention + pairs + speculation + 4 * (pairs + 1) + 6 + pairs;
}

int bench_ablate_main(int argc, char** argv) {
  Options o;
  ArgParser parser("toccata bench ablate", "Compares each optimization off and on, in pairs, and writes a report.");
  declare(parser, o);
  if (const std::optional<int> code = parser.parse(argc, argv)) return *code;
  if (o.model.empty() == o.from.empty())
    return parser.usage_error("give a model with -m FILE, or the JSON of a report with --from FILE");
  install_signal_handlers();
  if (const Status s = check_folder(o.out); !s) return report("bench ablate", s.error());
  const Result<AblationReport> got = report_of(o);
  if (!got) return report("bench ablate", got.error());
  if (interrupted()) return 130;
  Status s = write_stdout(got->model + "; " + got->machine + "\n" + got->workload + "\n\n" + ablation_table(*got));
  if (s && !o.out.empty()) s = write_reports(o.out, *got);
  if (s && !o.out.empty())
    std::fprintf(stderr, "toccata bench ablate: wrote %s.json and %s.html\n", o.out.c_str(), o.out.c_str());
  return s ? 0 : report("bench ablate", s.error());
}

}  // namespace toccata::cli
