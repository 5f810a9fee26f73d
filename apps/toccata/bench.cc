// `toccata bench`: prefill and decode speed beside the physical limits of the machine.
#include <algorithm>
#include <cstdio>
#include <map>

#include "bench_ablate.h"
#include "bench_output.h"
#include "bench_serve.h"
#include "commands.h"
#include "engine/engine_trace.h"
#include "interrupt.h"
#include "output.h"
#include "trace_option.h"

namespace toccata::cli {
namespace {

struct Options {
  ModelOptions model;
  std::vector<std::string> models, pairs;
  std::vector<int64_t> prompts = {512}, gens = {128}, depths = {0}, batches = {1}, rows, threads = {0};
  int64_t repetitions = 5;
  bool json = false;
  TraceOption trace;
};

void declare(ArgParser& parser, Options& o) {
  constexpr int64_t kMost = 1 << 24;
  parser.texts("-m,--model", o.models, "FILE", "GGUF model; may be given several times");
  parser.integers("-p,--n-prompt", o.prompts, 0, kMost, "prefill tests: tokens read; 0: none");
  parser.integers("-n,--n-gen", o.gens, 0, kMost, "decode tests: tokens generated; 0: none");
  parser.texts("-pg", o.pairs, "P,N", "read P tokens, then generate N; may be given several times");
  parser.integers("-d,--n-depth", o.depths, 0, kMost, "tokens in the cache before a test");
  parser.integers("-b,--batch-sizes", o.batches, 1, 1024, "sequences that decode together in one step");
  parser.integers("--rows", o.rows, 1, 1024, "time of one step of k rows against one row, as verification needs");
  parser.integers("-t,--threads", o.threads, 0, 1024, "threads; 0: one per CPU");
  parser.integer("-r,--repetitions", o.repetitions, 1, 100000, "timed runs of each test");
  parser.integer("-ub,--chunk-size", o.model.chunk, 1, 1 << 20, "most prompt tokens per step");
  parser.choice("--attention", o.model.attention, {"flash", "naive"}, "how attention is computed");
  add_cache_types(parser, o.model.k_type, o.model.v_type, o.model.kv_rotate, o.model.kv_skip_layers);
  add_kv_options(parser, o.model.kv);
  parser.flag("--json", o.json, "JSON rows with llama-bench's field names");
  o.trace.declare(parser);
  parser.footer(
      "The limit of a test is the time in which this machine, at its best, can read the bytes or do the\n"
      "operations that the test needs, whichever takes longer; it is measured at the start.\n"
      "\n"
      "Examples:\n"
      "  toccata bench -m model.gguf -p 512 -n 128\n"
      "  toccata bench -m a.gguf -m b.gguf -p 0 -n 64 -d 0,4096 -t 1,2\n"
      "  toccata bench -m model.gguf -p 0 -n 32 -b 1,4,8,16 --rows 1,2,4,8,16 --json\n"
      "\n"
      "'toccata bench ablate' compares each optimization off and on, 'toccata bench serve' measures a running server;\n"
      "their --help lists their options.");
}

Result<std::vector<BenchTest>> plan(const Options& o) {
  std::vector<BenchTest> tests;
  const auto add = [&tests](BenchTest t) { tests.push_back(t); };
  for (const int64_t depth : o.depths) {
    for (const int64_t p : o.prompts) {
      if (p > 0) add({.prompt = p, .depth = depth});
    }
    for (const int64_t n : o.gens) {
      for (const int64_t b : o.batches) {
        if (n > 0) add({.gen = n, .depth = depth, .batch = b});
      }
    }
    for (const std::string& pair : o.pairs) {
      const size_t comma = pair.find(',');
      const auto p = parse_integer(pair.substr(0, comma));
      const auto n = comma == std::string::npos ? std::nullopt : parse_integer(pair.substr(comma + 1));
      if (!p || !n || *p < 1 || *n < 1 || *p > 1 << 24 || *n > 1 << 24) {
        return fail(ErrorCode::kInvalidArgument, "-pg must be two counts, P,N, not " + quoted(pair));
      }
      add({.prompt = *p, .gen = *n, .depth = depth});
    }
    for (const int64_t k : o.rows) add({.depth = depth, .rows = k});
  }
  return tests;
}

LoadNeeds needs_of(const std::vector<BenchTest>& tests, int64_t chunk) {
  LoadNeeds needs;
  needs.most_rows = chunk;
  for (const BenchTest& t : tests) {
    // The pool is shared: as many blocks as the largest test takes, in units of one context.
    needs.context = std::max(needs.context, t.length());
    needs.sequences = std::max(needs.sequences, t.batch);
    needs.most_rows = std::max({needs.most_rows, t.batch, t.rows});
    needs.logit_rows = std::max({needs.logit_rows, t.batch, t.rows});
  }
  return needs;
}

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {}

  Status run(const std::vector<BenchTest>& tests) {
    if (options_.json) print("[");
    for (const std::string& path : options_.models) {
      for (const int64_t threads : options_.threads) {
        if (Status s = run_model(path, threads, tests); !s) return s;
      }
    }
    if (options_.json) print("\n]\n");
    return output_;
  }

 private:
  void print(const std::string& text) {
    if (output_) output_ = write_stdout(text);
  }

  Result<MachineLimits> limits(int threads, std::string_view isa) {
    const auto known = limits_.find(threads);
    if (known != limits_.end()) return known->second;
    Result<MachineLimits> measured = measure_limits(threads, isa);
    if (measured) limits_[threads] = *measured;
    return measured;
  }

  Status run_model(const std::string& path, int64_t threads, const std::vector<BenchTest>& tests) {
    BenchContext context;
    context.path = path;
    context.options = options_.model;
    context.options.path = path;
    context.options.threads = threads;
    Result<std::unique_ptr<LoadedModel>> model = load_model(context.options, needs_of(tests, options_.model.chunk));
    if (!model) return tl::unexpected(model.error());
    if (options_.trace.file()) (*model)->runner = engine::traced((*model)->runner, options_.trace.file());
    context.model = model->get();
    Result<MachineLimits> measured = limits((*model)->threads, (*model)->runner->isa());
    if (!measured) return tl::unexpected(measured.error());
    context.limits = *measured;
    if (!options_.json) {
      print(limits_line(context));
      print(table_header());
    }
    std::map<int64_t, double> one_row;  // by depth
    for (const BenchTest& test : tests) {
      const Result<BenchResult> r =
          run_bench_test(**model, test, options_.model.chunk, options_.repetitions, context.limits);
      if (!r) return tl::unexpected(r.error());
      if (interrupted() || !output_) return output_;
      if (test.rows == 1) one_row[test.depth] = r->step_seconds;
      const double one = one_row.count(test.depth) != 0 ? one_row[test.depth] : 0.0;
      if (options_.json)
        print((first_ ? "\n" : ",\n") + json_row(context, *r, one));
      else
        print(table_row(context, *r, one));
      first_ = false;
    }
    if (!options_.json) print("\n");
    return output_;
  }

  const Options& options_;
  std::map<int, MachineLimits> limits_;
  bool first_ = true;
  Status output_;
};

}  // namespace

int bench_main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "serve") return bench_serve_main(argc - 1, argv + 1);
  if (argc > 1 && std::string_view(argv[1]) == "ablate") return bench_ablate_main(argc - 1, argv + 1);
  Options o;
  ArgParser parser("toccata bench", "Measures prefill and decode speed beside the physical limits of this machine.");
  declare(parser, o);
  if (const std::optional<int> code = parser.parse(argc, argv)) return *code;
  if (o.models.empty()) return parser.usage_error("no model given: use -m FILE");
  if (const int code = check_kv_options(parser, o.model.kv, o.model.attention)) return code;
  const Result<std::vector<BenchTest>> tests = plan(o);
  if (!tests) return parser.usage_error(tests.error().message);
  if (tests->empty()) return parser.usage_error("nothing to do: -p, -n, -pg and --rows are all empty");
  install_signal_handlers();
  Status s = o.trace.open();
  if (s) s = Bench(o).run(*tests);
  return o.trace.close("bench", interrupted() ? 130 : s ? 0 : report("bench", s.error()));
}

}  // namespace toccata::cli
