#include "options.h"

#include <algorithm>
#include <random>

#include "kv/cache_types.h"

namespace toccata::cli {

void add_model_path(ArgParser& parser, ModelOptions& options) {
  parser.text("-m,--model", options.path, "FILE", "GGUF model; of a split model any part");
}

void add_engine_options(ArgParser& parser, ModelOptions& options) {
  constexpr int64_t kMost = 1 << 30;
  parser.group("Engine");
  parser.integer("-c,--ctx-size", options.context, 0, kMost,
                 "tokens of prompt and answer; 0: the model's, at most 8192");
  parser.integer("-t,--threads", options.threads, 0, 1024, "threads; 0: one per CPU");
  parser.integer("-ub,--chunk-size", options.chunk, 1, 1 << 20, "most prompt tokens per step");
  parser.choice("--attention", options.attention, {"flash", "naive"},
                "flash: tiled; naive: the whole score matrix in memory, for comparison");
  add_cache_types(parser, options.k_type, options.v_type, options.kv_rotate, options.kv_skip_layers);
  add_kv_options(parser, options.kv);
}

void add_kv_options(ArgParser& parser, KvPolicy& kv) {
  constexpr int64_t kMost = 1 << 30;
  parser.choice("--kv-policy", kv.name, kv::policy_names(),
                "which tokens stay in the KV cache. full: all; streaming: the first and the latest ones, without end; "
                "h2o: the latest "
                "ones and those that got most attention; snapkv: the same by the latest queries");
  parser.integer("--kv-budget", kv.budget, 0, kMost, "tokens that stay; 0: sinks and recent ones");
  parser.integer("--kv-sinks", kv.sinks, 0, kMost, "of them the first tokens of the text");
  parser.integer("--kv-recent", kv.recent, 0, kMost,
                 "of them the latest tokens; 0: what the policy makes of the budget");
  parser.number("--kv-heavy-ratio", kv.heavy_ratio, 0, 1, "h2o, snapkv: share of the budget that attention chooses");
  parser.integer("--kv-evict-interval", kv.interval, 1, 512, "evict at multiples of this position");
}

int check_kv_options(const ArgParser& parser, const KvPolicy& rule, const std::string& attention) {
  const bool numbers = parser.given("--kv-budget") || parser.given("--kv-recent");
  if (!rule.evicts() && numbers) {
    return parser.usage_error(
        "--kv-policy full keeps every token: choose a policy, or drop --kv-budget and --kv-recent");
  }
  if (rule.evicts() && attention == "naive") {
    return parser.usage_error("--attention naive keeps every token: choose flash, or --kv-policy full");
  }
  const Result<kv::CachePlan> plan = kv::make_plan(rule, {});
  return plan ? 0 : parser.usage_error("--kv-policy " + rule.name + ": " + plan.error().message);
}

attention::Method attention_method(const std::string& name) {
  return name == "naive" ? attention::Method::kNaive : attention::Method::kFlash;
}

void add_cache_types(ArgParser& parser, std::string& k_type, std::string& v_type, std::string& rotate,
                     std::vector<int64_t>& skip_layers) {
  std::vector<std::string> names;
  for (const kv::CacheType& t : kv::kCacheTypes) names.emplace_back(t.name);
  parser.choice("-ctk,--cache-type-k", k_type, names, "element type of cached keys");
  parser.choice("-ctv,--cache-type-v", v_type, names, "element type of cached values");
  parser.choice("--kv-cache-dtype", {&k_type, &v_type}, names, "both of them; what is given later counts");
  parser.choice("--kv-rotate", rotate, {"auto", "on", "off"},
                "Hadamard rotation of cached keys and values, which coarse types need; auto: of q4_0 alone");
  parser.integers("--kv-skip-layers", skip_layers, 0, 1 << 16, "layers whose cache is f16 whatever the types, from 0");
}

void add_sampling_options(ArgParser& parser, SamplingOptions& options) {
  constexpr int64_t kMost = 1 << 30;
  SamplingParams& p = options.params;
  parser.group("Sampling");
  parser.number("--temp", p.temperature, 0, 100, "temperature; 0: always the most likely token");
  parser.integer("--top-k", options.top_k, -kMost, kMost, "only the N most likely tokens; 0: all");
  parser.number("--top-p", p.top_p, 0, 1, "only the fewest likely tokens that hold this share; 1: all");
  parser.number("--min-p", p.min_p, 0, 1, "only tokens at least this likely relative to the best; 0: all");
  parser.number("--typical", p.typical_p, 0, 1, "locally typical sampling: the share to hold; 1: off");
  parser.number("--repeat-penalty", p.repetition_penalty, 0, 100,
                "logits of tokens that occurred are divided by it (multiplied if negative); 1: off");
  parser.number("--presence-penalty", p.presence_penalty, -100, 100, "taken off the logits of tokens that occurred");
  parser.number("--frequency-penalty", p.frequency_penalty, -100, 100, "taken off once per occurrence");
  parser.integer("--repeat-last-n", options.last_n, -1, kMost, "tokens that penalties look back at; -1: all, 0: none");
  parser.texts("-l,--logit-bias", options.biases, "ID+BIAS",
               "add BIAS to a token's logit, as 42+1.5, 42-1.5 or 42-inf");
  parser.integer("-s,--seed", options.seed, -1, INT64_MAX, "random seed; -1: a new one each time, shown at the end");
  parser.integer("--logprobs", options.logprobs, -1, 1 << 20,
                 "write each token's log-probability and the N best ones to stderr, as JSON lines; -1: off");
}

void add_speculation_options(ArgParser& parser, SpeculationOptions& options) {
  parser.group("Speculation");
  parser.choice(
      "--spec-method", options.method, {"off", "ngram", "suffix", "model", "auto"},
      "who drafts tokens that a step verifies, which by default never changes the answer: ngram looks for the end of "
      "the text earlier in it, suffix also counts what followed, model asks --draft-model; auto takes whichever "
      "promises most");
  parser.text("-md,--draft-model", options.draft_model, "FILE",
              "a smaller GGUF model of the same vocabulary; without --spec-method it is who drafts");
  parser.text("--spec-num-tokens", options.num_tokens, "N|auto",
              "tokens drafted per step, at most 32; auto: as many as pay at the moment, if any do");
  parser.choice(
      "--spec-verify", options.verify, {"coupled", "rejection"},
      "which drafted tokens are kept: coupled keeps the answer that comes without speculation; rejection keeps "
      "only its distribution, so that another answer comes at a temperature above 0");
}

Result<SpeculationParams> resolve_speculation(const SpeculationOptions& options) {
  SpeculationParams p;
  p.method = options.method.empty() ? (options.draft_model.empty() ? SpecMethod::kOff : SpecMethod::kModel)
                                    : *spec_method(options.method);
  p.verify = *spec_verify(options.verify);
  if (p.method == SpecMethod::kModel && options.draft_model.empty()) {
    return fail(ErrorCode::kInvalidArgument, "--spec-method model needs --draft-model FILE");
  }
  if (options.num_tokens == "auto") return p;
  const std::optional<int64_t> n = parse_integer(options.num_tokens);
  if (!n || *n < 1 || *n > SpeculationParams::kMostTokens) {
    return fail(ErrorCode::kInvalidArgument, "--spec-num-tokens must be 1 to " +
                                                 std::to_string(SpeculationParams::kMostTokens) + ", or auto, not " +
                                                 quoted(options.num_tokens));
  }
  p.num_tokens = static_cast<int32_t>(*n);
  return p;
}

Result<std::pair<int32_t, float>> parse_bias(const std::string& text) {
  const size_t at = text.find_first_of("+-=", 1);
  if (at != std::string::npos) {
    const std::optional<int64_t> id = parse_integer(text.substr(0, at));
    const std::string rest = text.substr(text[at] == '-' ? at : at + 1);
    const std::optional<double> bias = parse_number(rest);
    if (id && *id >= 0 && *id <= INT32_MAX && bias) return {{static_cast<int32_t>(*id), static_cast<float>(*bias)}};
  }
  return fail(ErrorCode::kInvalidArgument, "--logit-bias must be ID+BIAS or ID-BIAS, not " + quoted(text));
}

Result<SamplingParams> resolve_sampling(const SamplingOptions& options, int32_t vocab) {
  SamplingParams p = options.params;
  p.top_k = static_cast<int32_t>(std::max<int64_t>(0, options.top_k));
  p.penalty_last_n = static_cast<int32_t>(options.last_n);
  p.logprobs = static_cast<int32_t>(options.logprobs);
  p.seed = options.seed >= 0 ? static_cast<uint64_t>(options.seed) : std::random_device{}();
  for (const std::string& text : options.biases) {
    Result<std::pair<int32_t, float>> bias = parse_bias(text);
    if (!bias) return tl::unexpected(bias.error());
    p.logit_bias.push_back(*bias);
  }
  if (Status s = p.validate(vocab); !s) return tl::unexpected(s.error());
  return p;
}

std::optional<uint64_t> parse_size(std::string text) {
  double unit = 1;
  while (!text.empty() && (text.back() == 'B' || text.back() == 'i' || text.back() == 'b')) text.pop_back();
  const size_t at = text.empty() ? std::string::npos : std::string("kmgt").find(static_cast<char>(text.back() | 0x20));
  if (at != std::string::npos) {
    for (size_t i = 0; i <= at; ++i) unit *= 1024;
    text.pop_back();
  }
  const std::optional<double> n = parse_number(text);
  if (!n || !(*n > 0) || *n * unit > 1e15) return std::nullopt;
  return static_cast<uint64_t>(*n * unit);
}

std::string wrong_size(const std::string& option, const std::string& text) {
  return option + " must be a size such as 512M or 2.5G, or auto, not " + quoted(text);
}

}  // namespace toccata::cli
