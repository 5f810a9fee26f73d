// Options that several subcommands share: the model and how it is run, and sampling.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arg_parser.h"
#include "model/runner.h"
#include "toccata/kv_policy.h"
#include "toccata/result.h"
#include "toccata/sampling_params.h"
#include "toccata/speculation.h"

namespace toccata::cli {

struct ModelOptions {
  std::string path;
  int64_t context = 0;  // tokens; 0: the model's, at most 8192
  int64_t threads = 0;  // 0: all CPUs of this process
  int64_t chunk = 512;  // most prompt tokens per step
  std::string attention = "flash";
  std::string k_type = "f16", v_type = "f16";
  std::string kv_rotate = "auto";
  std::vector<int64_t> kv_skip_layers;
  KvPolicy kv;
};

void add_model_path(ArgParser& parser, ModelOptions& options);
void add_engine_options(ArgParser& parser, ModelOptions& options);

// --kv-policy and its numbers.
void add_kv_options(ArgParser& parser, KvPolicy& kv);
// What no model could make right: 0, or the exit code of a usage error.
int check_kv_options(const ArgParser& parser, const KvPolicy& rule, const std::string& attention);

attention::Method attention_method(const std::string& name);  // "flash" or "naive"
// -ctk, -ctv, --kv-cache-dtype for both, --kv-rotate and --kv-skip-layers.
void add_cache_types(ArgParser& parser, std::string& k_type, std::string& v_type, std::string& rotate,
                     std::vector<int64_t>& skip_layers);

struct SamplingOptions {
  SamplingParams params;
  int64_t top_k = 40, last_n = 64, seed = -1, logprobs = -1;
  std::vector<std::string> biases;
};

void add_sampling_options(ArgParser& parser, SamplingOptions& options);

// Speculative decoding.
struct SpeculationOptions {
  std::string method;  // "": model if there is one, else off
  std::string num_tokens = "auto", draft_model, verify = "coupled";
};

void add_speculation_options(ArgParser& parser, SpeculationOptions& options);
// Error: kInvalidArgument, names the option.
Result<SpeculationParams> resolve_speculation(const SpeculationOptions& options);

// The parameters for a model of `vocab` tokens. A seed of -1 is replaced by a random one of 32 bits, which is easy
// to type again. Error: kInvalidArgument, names the option.
Result<SamplingParams> resolve_sampling(const SamplingOptions& options, int32_t vocab);

// "ID+BIAS", "ID-BIAS", "ID=BIAS"; the bias may be -inf.
Result<std::pair<int32_t, float>> parse_bias(const std::string& text);

// "512M", "2.5G", "1048576"; powers of 1024.
std::optional<uint64_t> parse_size(std::string text);
std::string wrong_size(const std::string& option, const std::string& text);  // a usage error

}  // namespace toccata::cli
