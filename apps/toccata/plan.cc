// `toccata plan`: what the KV cache's types cost and hold on this machine, and the speed limits that follow.
#include <algorithm>
#include <cstdio>
#include <set>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/cpu_features.h"
#include "base/memory_info.h"
#include "commands.h"
#include "json_reader.h"
#include "kernels/dispatch.h"
#include "output.h"
#include "plan_table.h"
#include "text/tokenizer/utf8_runs.h"

namespace toccata::cli {
namespace json = boost::json;
namespace {

struct Options {
  ModelOptions model;
  std::string memory = "auto";
  float read = 0, int8 = 0, f32 = 0;  // 1e9 per second; 0: measured
  bool json = false;
};

struct Plan {
  model::ModelConfig config;
  WeightFacts weights;
  MachineLimits limits;
  std::vector<int> f16_layers;
  uint64_t memory = 0;
  int64_t context = 0, chunk = 0;
  std::vector<PlanRow> rows;
  double prefill = 0;
};

void declare(ArgParser& parser, Options& o) {
  constexpr int64_t kMost = 1 << 30;
  add_model_path(parser, o.model);
  parser.text("--kv-memory", o.memory, "SIZE", "memory of the KV cache, as 512M or 2.5G; auto: half of what is free");
  parser.integer("-c,--ctx-size", o.model.context, 0, kMost, "tokens of each sequence; 0: the model's, at most 8192");
  add_cache_types(parser, o.model.k_type, o.model.v_type, o.model.kv_rotate, o.model.kv_skip_layers);
  parser.integer("-ub,--chunk-size", o.model.chunk, 1, 1 << 20, "most prompt tokens per step");
  parser.integer("-t,--threads", o.model.threads, 0, 1024, "threads; 0: one per CPU");
  parser.number("--read-rate", o.read, 0, 1e9f, "10^9 bytes/s that memory gives; 0: measured here");
  parser.number("--int8-rate", o.int8, 0, 1e9f, "10^9 operations/s of int8 products; 0: measured here");
  parser.number("--f32-rate", o.f32, 0, 1e9f, "10^9 operations/s of f32; 0: measured here");
  parser.flag("--json", o.json, "one JSON object");
  parser.footer(
      "A limit is the time in which the machine at its best reads the bytes or does the operations that a\n"
      "step needs, whichever takes longer: decode at the end of the context, prefill of all of it.\n"
      "\n"
      "Examples:\n"
      "  toccata plan -m model.gguf\n"
      "  toccata plan -m model.gguf --kv-memory 2G -c 4096 -ctk q8_0 -ctv q4_0");
}

Result<MachineLimits> limits_of(const Options& o) {
  MachineLimits limits;
  if (!(o.read > 0 && o.int8 > 0 && o.f32 > 0)) {
    const Result<const kernels::KernelSet*> kernels = kernels::select_kernels();
    if (!kernels) return tl::unexpected(kernels.error());
    const int threads = o.model.threads > 0 ? static_cast<int>(o.model.threads) : cpu_features().logical_cpus;
    const Result<MachineLimits> measured = measure_limits(threads, (*kernels)->isa);
    if (!measured) return tl::unexpected(measured.error());
    limits = *measured;
  }
  if (o.read > 0) limits.read_bytes = static_cast<double>(o.read) * 1e9;
  if (o.int8 > 0) limits.int8_ops = static_cast<double>(o.int8) * 1e9;
  if (o.f32 > 0) limits.f32_ops = static_cast<double>(o.f32) * 1e9;
  return limits;
}

// Every type for both K and V, and the pair that was asked for if it is none of them.
std::vector<PlanRow> rows_of(const Plan& p, const ModelOptions& options) {
  std::vector<PlanRow> rows;
  const auto add = [&](const kv::CacheType& k, const kv::CacheType& v) {
    rows.push_back(plan_row(p.config, p.weights, p.limits, {k, v, p.f16_layers, p.memory, p.context}));
  };
  for (const kv::CacheType& t : kv::kCacheTypes) add(t, t);
  if (options.k_type != options.v_type) {
    add({options.k_type, *kv::cache_type(options.k_type)}, {options.v_type, *kv::cache_type(options.v_type)});
  }
  return rows;
}

Result<Plan> make_plan(const Options& o, uint64_t memory) {
  Result<std::shared_ptr<const gguf::File>> file = gguf::File::open(o.model.path);
  if (!file) return tl::unexpected(file.error());
  Result<model::ModelConfig> config = model::read_config(**file);
  if (!config) return tl::unexpected(config.error());
  Plan p;
  p.config = std::move(*config);
  p.weights = weight_facts(**file, p.config);
  const Result<MachineLimits> limits = limits_of(o);
  if (!limits) return tl::unexpected(limits.error());
  p.limits = *limits;
  p.memory = memory;
  p.context = o.model.context > 0 ? o.model.context : std::min<int64_t>(p.config.context_length, 8192);
  p.chunk = o.model.chunk;
  for (const int64_t layer : std::set<int64_t>(o.model.kv_skip_layers.begin(), o.model.kv_skip_layers.end())) {
    if (layer >= p.config.layers) {
      return fail(ErrorCode::kInvalidArgument, "layer " + std::to_string(layer) +
                                                   " cannot keep an f16 cache: the model has layers 0 to " +
                                                   std::to_string(p.config.layers - 1));
    }
    p.f16_layers.push_back(static_cast<int>(layer));
  }
  p.rows = rows_of(p, o.model);
  p.prefill = prefill_limit(p.config, p.weights, p.limits,
                            {kv::kCacheTypes[1], kv::kCacheTypes[1], {}, memory, p.context}, p.chunk);
  return p;
}

std::string text_of(const Plan& p) {
  char line[256];
  std::string text;
  const auto print = [&](const char* pattern, auto... values) {
    std::snprintf(line, sizeof line, pattern, values...);
    text += line;
  };
  print("%s: a step reads %s of weights; KV cache of %s, sequences of %lld tokens\n", p.config.architecture.c_str(),
        size_text(p.weights.bytes).c_str(), size_text(static_cast<double>(p.memory)).c_str(),
        static_cast<long long>(p.context));
  print("limits: %.1f GB/s, %.0f GOPS int8, %.0f GFLOPS f32; prefill at most %.1f tokens/s\n\n",
        p.limits.read_bytes * 1e-9, p.limits.int8_ops * 1e-9, p.limits.f32_ops * 1e-9, p.prefill);
  print("%-12s %12s %12s %9s %14s %14s %14s\n", "K, V", "bytes/token", "tokens", "sequences", "read per token",
        "decode tok/s", "together tok/s");
  for (const PlanRow& r : p.rows) {
    std::string name(r.k.name);
    if (r.k.name != r.v.name) name += ", " + std::string(r.v.name);
    print("%-12s %12llu %12lld %9lld %14s %14.1f %14.1f\n", name.c_str(),
          static_cast<unsigned long long>(r.bytes_per_token), static_cast<long long>(r.tokens()),
          static_cast<long long>(r.sequences), size_text(r.read_bytes).c_str(), r.decode, r.batch_decode);
  }
  return text;
}

std::string json_of(const Plan& p, const std::string& path) {
  json::array rows;
  for (const PlanRow& r : p.rows) {
    rows.push_back({{"type_k", r.k.name},
                    {"type_v", r.v.name},
                    {"kv_bytes_per_token", r.bytes_per_token},
                    {"blocks", r.blocks},
                    {"tokens", r.tokens()},
                    {"tokens_held_per_sequence", r.held},
                    {"max_sequences", r.sequences},
                    {"read_bytes_per_token", json_number(r.read_bytes)},
                    {"decode_limit_ts", json_number(r.decode)},
                    {"batch_decode_limit_ts", json_number(r.batch_decode)}});
  }
  return json::serialize(json::object{{"model_filename", to_valid_utf8(path)},
                                      {"architecture", to_valid_utf8(p.config.architecture)},
                                      {"kv_memory_bytes", p.memory},
                                      {"context", p.context},
                                      {"chunk", p.chunk},
                                      {"weight_bytes_per_step", json_number(p.weights.bytes)},
                                      {"limit_read_bytes_per_s", json_number(p.limits.read_bytes)},
                                      {"limit_int8_ops_per_s", json_number(p.limits.int8_ops)},
                                      {"limit_f32_ops_per_s", json_number(p.limits.f32_ops)},
                                      {"prefill_limit_ts", json_number(p.prefill)},
                                      {"types", std::move(rows)}}) +
         "\n";
}

}  // namespace

int plan_main(int argc, char** argv) {
  Options o;
  ArgParser parser("toccata plan", "Shows how many tokens and sequences fit a KV cache, and how fast they can be.");
  declare(parser, o);
  if (const std::optional<int> code = parser.parse(argc, argv)) return *code;
  if (o.model.path.empty()) return parser.usage_error("no model given: use -m FILE");
  uint64_t memory = available_memory() / 2;
  if (o.memory != "auto") {
    const std::optional<uint64_t> bytes = parse_size(o.memory);
    if (!bytes) return parser.usage_error(wrong_size("--kv-memory", o.memory));
    memory = *bytes;
  }
  const Result<Plan> p = make_plan(o, memory);
  if (!p) return report("plan", p.error());
  const Status s = write_stdout(o.json ? json_of(*p, o.model.path) : text_of(*p));
  return s ? 0 : report("plan", s.error());
}

}  // namespace toccata::cli
