// `toccata simulate kv`: what KV policies and cache types do to memory, and which tokens of a text stay.
#include <unistd.h>

#include <cstdio>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "interrupt.h"
#include "json_reader.h"
#include "kept_tokens.h"
#include "output.h"
#include "sim/kv_memory.h"
#include "simulate.h"
#include "text/tokenizer/utf8_runs.h"

namespace toccata::cli {
namespace json = boost::json;
namespace {

constexpr int64_t kPicturePoints = 400;
constexpr int64_t kMostText = 65536;  // tokens

struct KvOptions {
  ModelOptions model;
  int64_t layers = 30, kv_heads = 3, head_dim = 64, window = 0;  // of SmolLM2 135M
  int64_t tokens = 4096, columns = 60;
  std::vector<std::string> types;
  std::string prompt, file, svg;
  int64_t layer = -1, kv_head = -1;
  bool json = false;
};

struct Text {
  std::shared_ptr<Tokenizer> tokenizer;
  std::vector<int32_t> ids;
  std::vector<KeptTokens> kept;
};

struct Shape {
  kv::Layout layout;
  kv::ModelShape model;
};

void declare(ArgParser& parser, KvOptions& o) {
  constexpr int64_t kMost = 1 << 20;
  parser.group("Model");
  add_model_path(parser, o.model);
  parser.integer("--layers", o.layers, 1, kMost, "without -m: layers");
  parser.integer("--kv-heads", o.kv_heads, 1, kMost, "without -m: KV heads of a layer");
  parser.integer("--head-dim", o.head_dim, 2, 1 << 16, "without -m: size of a head");
  parser.integer("--window", o.window, 0, 1 << 30, "without -m: the longest sliding window; 0: none");
  parser.group("KV cache");
  parser.integer("--tokens", o.tokens, 1, int64_t{1} << 40, "tokens that the text grows to");
  parser.texts("--cache-type", o.types, "TYPE", "of K and V; several may be given. Default: f16, q8_0 and q4_0");
  add_kv_options(parser, o.model.kv);
  parser.group("Text");
  parser.text("-p,--prompt", o.prompt, "TEXT", "with -m: a text, to see which of its tokens stay");
  parser.text("-f,--file", o.file, "FILE", "the same from a file; '-': stdin");
  parser.integer("--layer", o.layer, -1, kMost,
                 "what this layer keeps, from 0; -1: what at least half of all heads keep");
  parser.integer("--kv-head", o.kv_head, -1, kMost, "the same for a KV head");
  parser.integer("-ub,--chunk-size", o.model.chunk, 1, 1 << 20, "most tokens per step; changes nothing");
  parser.integer("-t,--threads", o.model.threads, 0, 1024, "threads; 0: one per CPU");
  parser.group("Output");
  parser.integer("--columns", o.columns, 1, 1000, "width of the curves");
  parser.text("--svg", o.svg, "FILE", "the curves as a picture");
  parser.flag("--json", o.json, "one JSON object");
  parser.footer(
      "Shows all policies side by side, or with --kv-policy the one beside full. Without --kv-budget the budget\n"
      "is a quarter of the tokens.\n"
      "\n"
      "Examples:\n"
      "  toccata simulate kv\n"
      "  toccata simulate kv --layers 32 --kv-heads 8 --head-dim 128 --tokens 32768 --kv-budget 2048 --svg kv.svg\n"
      "  toccata simulate kv -m model.gguf -f letter.txt --kv-budget 64 --kv-evict-interval 8");
}

// All policies, or full and the one that was asked for, with the given numbers.
std::vector<KvPolicy> rules_of(const ArgParser& parser, const KvOptions& o, int64_t tokens) {
  std::vector<KvPolicy> rules;
  for (const std::string& name : kv::policy_names()) {
    KvPolicy rule = o.model.kv;
    rule.name = name;
    if (!rule.evicts()) {
      rule = KvPolicy();
    } else if (parser.given("--kv-policy") && name != o.model.kv.name) {
      continue;
    } else if (rule.budget == 0 && rule.recent == 0) {
      rule.budget = std::max<int64_t>(rule.sinks + 2, tokens / 4);
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

Result<Shape> shape_of(const KvOptions& o) {
  Shape s;
  s.layout.layers = static_cast<int>(o.layers);
  s.layout.kv_heads = static_cast<int>(o.kv_heads);
  s.layout.head_dim = static_cast<int>(o.head_dim);
  s.model.longest_window = o.window;
  if (o.model.path.empty()) return s;
  const Result<std::shared_ptr<const gguf::File>> file = gguf::File::open(o.model.path);
  if (!file) return tl::unexpected(file.error());
  const Result<model::ModelConfig> config = model::read_config(**file);
  if (!config) return tl::unexpected(config.error());
  s.layout.layers = config->layers;
  s.layout.kv_heads = config->kv_heads;
  s.layout.head_dim = config->head_dim;
  s.model = model::kv_shape(*config);
  return s;
}

Result<std::vector<sim::KvCurve>> curves_of(const KvOptions& o, const std::vector<KvPolicy>& rules, Shape shape,
                                            int64_t tokens, int64_t points) {
  std::vector<sim::KvCurve> curves;
  for (const KvPolicy& rule : rules) {
    for (const std::string& type : o.types) {
      shape.layout.k_type = shape.layout.v_type = *kv::cache_type(type);
      Result<sim::KvCurve> curve = sim::kv_memory(rule, type, shape.layout, shape.model, tokens, points);
      if (!curve) return tl::unexpected(curve.error());
      curves.push_back(std::move(*curve));
    }
  }
  return curves;
}

Result<std::vector<int32_t>> tokens_of(const ArgParser& parser, const KvOptions& o, const Tokenizer& tokenizer) {
  const Result<std::string> text = parser.given("--prompt") ? Result<std::string>(o.prompt) : read_text(o.file);
  if (!text) return tl::unexpected(text.error());
  std::vector<int32_t> ids = tokenizer.encode(*text, {.parse_special = false, .add_special = true});
  if (!ids.empty() && std::ssize(ids) <= kMostText) return ids;
  return fail(ErrorCode::kInvalidArgument,
              "a text of 1 to " + std::to_string(kMostText) + " tokens is needed, not " + std::to_string(ids.size()));
}

Status read_under(const KvOptions& o, const std::vector<KvPolicy>& rules, Text& text) {
  LoadNeeds needs;
  needs.context = std::ssize(text.ids) + 1024;  // a policy may have a piece more in its blocks
  ModelOptions options = o.model;
  options.kv = KvPolicy();
  const Result<std::unique_ptr<LoadedModel>> model = load_model(options, needs);
  if (!model) return tl::unexpected(model.error());
  if (std::ssize(text.ids) > (*model)->runner->config().context_length) {
    return fail(ErrorCode::kInvalidArgument, "the text of " + std::to_string(text.ids.size()) +
                                                 " tokens is longer than the model was made for (" +
                                                 std::to_string((*model)->runner->config().context_length) + ")");
  }
  for (const KvPolicy& rule : rules) {
    if (!rule.evicts()) continue;
    Result<KeptTokens> kept = kept_tokens(**model, rule, text.ids, options.chunk, o.layer, o.kv_head);
    if (!kept) return tl::unexpected(kept.error());
    text.kept.push_back(std::move(*kept));
  }
  return {};
}

std::string text_of(const Text& text, bool colours) {
  std::string out;
  for (const KeptTokens& k : text.kept) {
    int64_t all = 0, most = 0, none = 0;
    for (size_t i = 0; i < k.kept.size(); ++i) {
      all += k.kept[i] == k.heads ? 1 : 0;
      most += k.marked(i) ? 1 : 0;
      none += k.kept[i] == 0 ? 1 : 0;
    }
    char line[200];
    std::snprintf(line, sizeof line,
                  "\n%s, budget %lld: of %zu tokens %lld are kept by all of %d heads, %lld by half of them or more "
                  "(marked), %lld by none\n",
                  k.policy.c_str(), static_cast<long long>(k.budget), k.kept.size(), static_cast<long long>(all),
                  k.heads, static_cast<long long>(most), static_cast<long long>(none));
    out += line + marked_text(*text.tokenizer, text.ids, k, colours) + "\n";
  }
  return out;
}

json::object text_json(const Text& text) {
  json::array tokens;
  for (size_t i = 0; i < text.ids.size(); ++i) {
    json::object kept;
    for (const KeptTokens& k : text.kept) kept[k.policy] = k.kept[i];
    tokens.push_back({{"token", text.ids[i]},
                      {"text", to_valid_utf8(text.tokenizer->token_bytes(text.ids[i]))},
                      {"kept_by", std::move(kept)}});
  }
  json::object heads;
  for (const KeptTokens& k : text.kept) heads[k.policy] = k.heads;
  return {{"heads", std::move(heads)}, {"tokens", std::move(tokens)}};
}

std::string json_of(const Shape& shape, const std::vector<sim::KvCurve>& curves, const Text& text) {
  json::array all;
  for (const sim::KvCurve& c : curves) {
    json::array points;
    for (const sim::KvPoint& p : c.points) {
      points.push_back({{"tokens", p.tokens}, {"kept", p.kept}, {"blocks", p.blocks}, {"bytes", p.bytes}});
    }
    all.push_back({{"policy", c.policy},
                   {"type", c.type},
                   {"block_bytes", c.block_bytes},
                   {"state_bytes", c.state_bytes},
                   {"points", std::move(points)}});
  }
  json::object o{{"layers", shape.layout.layers},
                 {"kv_heads", shape.layout.kv_heads},
                 {"head_dim", shape.layout.head_dim},
                 {"longest_window", shape.model.longest_window},
                 {"curves", std::move(all)}};
  if (!text.ids.empty()) o["text"] = text_json(text);
  return json::serialize(o) + "\n";
}

Status write_svg(const std::string& path, const std::vector<sim::KvCurve>& curves) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file) return tl::unexpected(file.error());
  if (Status s = file->write(sim::kv_memory_svg(curves)); !s) return s;
  return file->close();
}

Status simulate(const ArgParser& parser, const KvOptions& o) {
  const Result<Shape> shape = shape_of(o);
  if (!shape) return tl::unexpected(shape.error());
  Text text;
  if (parser.given("--prompt") || parser.given("--file")) {
    const Result<std::unique_ptr<LoadedModel>> words = load_text_side(o.model.path);
    if (!words) return tl::unexpected(words.error());
    text.tokenizer = (*words)->tokenizer;
    Result<std::vector<int32_t>> ids = tokens_of(parser, o, *text.tokenizer);
    if (!ids) return tl::unexpected(ids.error());
    text.ids = std::move(*ids);
  }
  const int64_t tokens = text.ids.empty() || parser.given("--tokens") ? o.tokens : std::ssize(text.ids);
  const std::vector<KvPolicy> rules = rules_of(parser, o, text.ids.empty() ? tokens : std::ssize(text.ids));
  const Result<std::vector<sim::KvCurve>> curves = curves_of(o, rules, *shape, tokens, o.columns);
  if (!curves) return tl::unexpected(curves.error());
  if (!o.svg.empty()) {
    const Result<std::vector<sim::KvCurve>> fine = curves_of(o, rules, *shape, tokens, kPicturePoints);
    if (!fine) return tl::unexpected(fine.error());
    if (Status s = write_svg(o.svg, *fine); !s) return s;
  }
  if (!text.ids.empty()) {
    if (Status s = read_under(o, rules, text); !s) return s;
  }
  if (interrupted()) return {};
  return write_stdout(o.json ? json_of(*shape, *curves, text)
                             : sim::kv_memory_text(*curves) + text_of(text, isatty(STDOUT_FILENO) == 1));
}

// Empty: none.
std::string fault_of(const ArgParser& parser, const KvOptions& o) {
  const bool model = !o.model.path.empty(), text = parser.given("--prompt") || parser.given("--file");
  if (parser.given("--prompt") && parser.given("--file")) return "give -p or -f, not both";
  if (text && !model) return "-p and -f need -m FILE, whose tokens they are";
  for (const char* name : {"--layers", "--kv-heads", "--head-dim", "--window"}) {
    if (model && parser.given(name)) return std::string(name) + " does not go with -m, which knows it";
  }
  for (const char* name : {"--layer", "--kv-head", "--chunk-size", "--threads"}) {
    if (!text && parser.given(name)) return std::string(name) + " needs a text: -p or -f";
  }
  for (const std::string& type : o.types) {
    if (!kv::cache_type(type)) return "--cache-type must be one of " + kv::cache_type_names() + ", not " + quoted(type);
  }
  return "";
}

}  // namespace

int simulate_kv_main(int argc, char** argv) {
  KvOptions o;
  ArgParser parser("toccata simulate kv",
                   "Shows what KV policies and cache types do to memory, and which tokens stay.");
  declare(parser, o);
  if (const std::optional<int> code = parser.parse(argc, argv)) return *code;
  if (const std::string fault = fault_of(parser, o); !fault.empty()) return parser.usage_error(fault);
  if (o.types.empty()) o.types = {"f16", "q8_0", "q4_0"};
  install_signal_handlers();
  const Status s = simulate(parser, o);
  if (interrupted()) return 130;
  return s ? 0 : report("simulate kv", s.error());
}

}  // namespace toccata::cli
