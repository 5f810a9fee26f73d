#include "model/config.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "model/metadata_reader.h"

namespace toccata::model {
namespace {

// What distinguishes the architectures beyond their numbers.
struct Family {
  std::string_view name;
  bool interleaved_rope;  // GGUF's llama files permute Q and K so that rope pairs are neighbours
  bool qkv_bias;
  bool qk_norm;
  bool gemma;           // embedding scale, four norms per layer, GELU, alternating windows with their own rope base
  bool window_allowed;  // a sliding window in all layers, as in Mistral 7B v0.1
};

constexpr Family kFamilies[] = {
    {"llama", true, false, false, false, true},
    {"qwen2", false, true, false, false, false},
    {"qwen3", false, false, true, false, false},
    {"gemma3", false, false, true, true, true},
};

constexpr int64_t kMaxLayers = 1000, kMaxDim = 999'999, kMaxHeadDim = 512, kMaxVocab = 1 << 24;
constexpr int64_t kMaxContext = 1'000'000'000, kMaxHeads = 65536;
constexpr double kMinBase = 1.0 + 1e-6, kMaxBase = 1e15, kMaxFactor = 1e6;

Result<const Family*> find_family(const gguf::File& file) {
  const auto type = file.get_string("general.type");
  if (!type) return tl::unexpected<Error>(type.error());
  const std::string path = file.shards().front()->path();
  if (*type && **type != "model") {
    return fail(ErrorCode::kUnsupported, path + ": metadata key 'general.type': '" + gguf::printable(**type) +
                                             "' is not supported; only 'model' is");
  }
  const auto architecture = file.get_string("general.architecture");
  if (!architecture) return tl::unexpected<Error>(architecture.error());
  if (!*architecture) return fail(ErrorCode::kInvalidFile, path + ": metadata key 'general.architecture' is missing");
  std::string known;
  for (const Family& family : kFamilies) {
    if (family.name == **architecture) return &family;
    known += (known.empty() ? "" : ", ") + std::string(family.name);
  }
  return fail(ErrorCode::kUnsupported, path + ": architecture '" + gguf::printable(**architecture) +
                                           "' is not supported; supported are " + known);
}

// Keys that change the mathematics in a way that toccata does not implement: a value other than 0 is refused.
void refuse_features(MetadataReader& in) {
  for (const char* key : {"expert_count", "attn_logit_softcapping", "final_logit_softcapping", "logit_scale",
                          "residual_scale", "embedding_scale", "attention.clamp_kqv", "attention.max_alibi_bias",
                          "rope.scaling.yarn_log_multiplier", "pooling_type"}) {
    if (in.number(key, -HUGE_VAL, HUGE_VAL, 0.0) != 0.0) in.refuse(key, "this feature is not supported");
  }
  if (!in.boolean("attention.causal", true)) in.refuse("attention.causal", "only causal attention is supported");
}

void read_shape(MetadataReader& in, ModelConfig& c) {
  c.layers = static_cast<int>(in.integer("block_count", 1, kMaxLayers));
  c.context_length = in.integer("context_length", 1, kMaxContext);
  c.dim = static_cast<int>(in.integer("embedding_length", 1, kMaxDim));
  c.ff_dim = static_cast<int>(in.per_layer("feed_forward_length", c.layers, 1, kMaxDim));
  c.heads = static_cast<int>(in.per_layer("attention.head_count", c.layers, 1, kMaxHeads));
  c.kv_heads = static_cast<int>(in.per_layer("attention.head_count_kv", c.layers, 1, kMaxHeads, c.heads));
  if (in.failed()) return;
  if (c.heads % c.kv_heads != 0) {
    return in.invalid("attention.head_count_kv", "the " + std::to_string(c.heads) +
                                                     " heads are not a multiple of the " + std::to_string(c.kv_heads) +
                                                     " KV heads");
  }
  if (!in.has("attention.key_length") && c.dim % c.heads != 0) {
    return in.invalid("attention.head_count", "the embedding length " + std::to_string(c.dim) +
                                                  " is not a multiple of the " + std::to_string(c.heads) + " heads");
  }
  const int64_t key = in.integer("attention.key_length", 1, kMaxHeadDim, c.dim / c.heads);
  const int64_t value = in.integer("attention.value_length", 1, kMaxHeadDim, key);
  if (in.failed()) return;
  if (key != value) {
    return in.refuse("attention.value_length", "the value length " + std::to_string(value) +
                                                   " differs from the key length " + std::to_string(key));
  }
  if (key % 8 != 0 || key > kMaxHeadDim) {
    return in.refuse(
        in.has("attention.key_length") ? "attention.key_length" : "attention.head_count",
        "the head size " + std::to_string(key) + " is not a multiple of 8 up to " + std::to_string(kMaxHeadDim));
  }
  c.head_dim = static_cast<int>(key);
}

void read_yarn(MetadataReader& in, double factor, ModelConfig& c) {
  YarnConfig& y = c.yarn;
  y.enabled = true;
  y.factor = factor;
  y.original_context = in.integer("rope.scaling.original_context_length", 1, kMaxContext, c.context_length);
  y.beta_fast = in.number("rope.scaling.yarn_beta_fast", 1e-3, 1e6, y.beta_fast);
  y.beta_slow = in.number("rope.scaling.yarn_beta_slow", 1e-3, 1e6, y.beta_slow);
  y.attn_factor = in.number("rope.scaling.attn_factor", 1e-3, 1e3, y.attn_factor);
  y.attn_factor *= in.number("rope.scaling.yarn_attn_factor", 1e-3, 1e3, 1.0);
}

// Scaling of Llama 3 has no type here: its factors are the tensor rope_freqs.weight.
void read_rope(MetadataReader& in, const Family& family, ModelConfig& c) {
  c.rope.interleaved = family.interleaved_rope;
  c.rope.dim = static_cast<int>(in.integer("rope.dimension_count", 2, kMaxHeadDim, c.head_dim));
  if (!in.failed() && (c.rope.dim % 2 != 0 || c.rope.dim > c.head_dim)) {
    return in.invalid("rope.dimension_count", "the value " + std::to_string(c.rope.dim) +
                                                  " is not an even number up to the head size " +
                                                  std::to_string(c.head_dim));
  }
  // Some writers call the base of Gemma's full layers "global".
  const double global_base = in.number("rope.global.freq_base", kMinBase, kMaxBase, family.gemma ? 1e6 : 1e4);
  c.rope.base = in.number("rope.freq_base", kMinBase, kMaxBase, global_base);

  // Old files have the factor of linear scaling alone, under another key.
  const double old_factor = in.number("rope.scale_linear", 1e-6, kMaxFactor, 1.0);
  const double factor = in.number("rope.scaling.factor", 1e-6, kMaxFactor, old_factor);
  const std::string type = in.text("rope.scaling.type", "linear");
  if (type == "linear") {
    c.rope.linear_factor = factor;
  } else if (type == "yarn") {
    read_yarn(in, factor, c);
  } else if (type != "none") {
    in.refuse("rope.scaling.type",
              "the type '" + gguf::printable(type) + "' is not supported; none, linear and yarn are");
  }
  c.rope_local = c.rope;
}

void read_windows(MetadataReader& in, const Family& family, ModelConfig& c) {
  c.window.assign(static_cast<size_t>(c.layers), 0);
  const int64_t size = in.integer("attention.sliding_window", 0, kMaxContext, 0);
  if (in.failed() || size == 0 || size >= c.context_length) return;
  if (!family.window_allowed) {
    return in.refuse("attention.sliding_window", "a sliding window is not supported for this architecture");
  }
  std::fill(c.window.begin(), c.window.end(), size);
}

// Layers without a window: every sixth, or as a pattern says, which is a period or a list with true for each layer that
// has a window.
void read_gemma_windows(MetadataReader& in, ModelConfig& c) {
  const int64_t size = in.integer("attention.sliding_window", 1, kMaxContext, c.layers <= 26 ? 512 : 1024);
  c.window.assign(static_cast<size_t>(c.layers), size);
  const std::string_view pattern = "attention.sliding_window_pattern";
  if (const gguf::Array* array = in.array(pattern); array != nullptr) {
    if (array->element != gguf::ValueType::kBool || array->count != c.window.size()) {
      return in.invalid(pattern, "the array is not one boolean for each layer");
    }
    for (size_t i = 0; i < c.window.size(); ++i) c.window[i] = array->int_at(i) == 1 ? size : 0;
    return;
  }
  const auto period = static_cast<size_t>(in.integer(pattern, 1, kMaxLayers, 6));
  for (size_t i = period - 1; i < c.window.size(); i += period) c.window[i] = 0;
}

// Gemma 3 (technical report, 2025): layers 5, 11, 17, ... from 0 are full, the others see a window. Files may omit the
// window (512 in the 270M and 1B models with 18 and 26 layers, 1024 in the larger ones) and both rope bases. Linear
// rope scaling belongs to the full layers only.
void read_gemma(MetadataReader& in, ModelConfig& c) {
  c.activation = Activation::kGeluTanh;
  c.post_norms = true;
  c.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(c.dim)));
  read_gemma_windows(in, c);
  c.rope_local.linear_factor = 1.0;
  const double local_base = in.number("rope.local.freq_base", kMinBase, kMaxBase, 1e4);
  c.rope_local.base = in.number("rope.freq_base_swa", kMinBase, kMaxBase, local_base);
  if (c.yarn.enabled) in.refuse("rope.scaling.type", "'yarn' is not supported for gemma3");
}

// 1 / sqrt(head size). The 27B model of Gemma 3 alone, known by its 62 layers, divides the embedding length by the
// heads instead.
double default_attention_scale(const Family& family, const ModelConfig& c) {
  const bool by_embedding = family.gemma && c.layers == 62;
  return 1.0 / std::sqrt(by_embedding ? static_cast<double>(c.dim) / c.heads : static_cast<double>(c.head_dim));
}

Status read_vocab(const gguf::File& file, ModelConfig& c) {
  const std::string path = file.shards().front()->path();
  const gguf::Tensor* embedding = file.find_tensor("token_embd.weight");
  if (embedding == nullptr) return fail(ErrorCode::kInvalidFile, path + ": tensor 'token_embd.weight' is missing");
  const auto tokens = file.get_array("tokenizer.ggml.tokens");
  if (!tokens) return tl::unexpected<Error>(tokens.error());
  c.vocab = embedding->rows();
  if (c.vocab > kMaxVocab) {
    return fail(ErrorCode::kUnsupported, path + ": tensor 'token_embd.weight': its " + std::to_string(c.vocab) +
                                             " rows are more than the " + std::to_string(kMaxVocab) + " supported");
  }
  if (*tokens != nullptr && (*tokens)->count > static_cast<uint64_t>(c.vocab)) {
    return fail(ErrorCode::kInvalidFile,
                path + ": metadata key 'tokenizer.ggml.tokens': " + std::to_string((*tokens)->count) +
                    " tokens, but tensor 'token_embd.weight' has " + std::to_string(c.vocab) + " rows");
  }
  return {};
}

}  // namespace

Result<ModelConfig> read_config(const gguf::File& file) {
  const auto family = find_family(file);
  if (!family) return tl::unexpected<Error>(family.error());
  ModelConfig c;
  c.architecture = (*family)->name;
  c.qkv_bias = (*family)->qkv_bias;
  c.qk_norm = (*family)->qk_norm;
  const auto name = file.get_string("general.name");
  if (!name) return tl::unexpected<Error>(name.error());
  c.name = name->value_or("");
  MetadataReader in(file, c.architecture);
  refuse_features(in);
  read_shape(in, c);
  if (in.failed()) return tl::unexpected<Error>(in.error());
  c.norm_eps = static_cast<float>(in.number("attention.layer_norm_rms_epsilon", 1e-12, 0.1));
  c.attn_scale = static_cast<float>(in.number("attention.scale", 1e-6, 1e3, default_attention_scale(**family, c)));
  read_rope(in, **family, c);
  if ((*family)->gemma) {
    read_gemma(in, c);
  } else {
    read_windows(in, **family, c);
  }
  if (in.failed()) return tl::unexpected<Error>(in.error());
  if (auto ok = read_vocab(file, c); !ok) return tl::unexpected<Error>(ok.error());
  return c;
}

}  // namespace toccata::model
