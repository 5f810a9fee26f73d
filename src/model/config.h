// Hyperparameters of a model, read from GGUF metadata and checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/gguf/gguf.h"
#include "toccata/result.h"

namespace toccata::model {

struct RopeConfig {
  double base = 10000.0;
  double linear_factor = 1.0;  // positions are divided by it (rope scaling type "linear")
  int dim = 0;                 // rotated part of a head
  bool interleaved = false;    // llama's GGUF order; false: NeoX halves
  bool operator==(const RopeConfig&) const = default;
};

struct YarnConfig {
  bool enabled = false;
  double factor = 1.0;
  int64_t original_context = 0;
  double beta_fast = 32.0, beta_slow = 1.0, attn_factor = 1.0;
};

enum class Activation : uint8_t { kSilu, kGeluTanh };

struct ModelConfig {
  std::string architecture;
  std::string name;
  int64_t vocab = 0, context_length = 0;
  int layers = 0, dim = 0, ff_dim = 0, heads = 0, kv_heads = 0, head_dim = 0;
  float norm_eps = 1e-5f;
  float attn_scale = 0.0f;
  float embedding_scale = 1.0f;  // the embedding row is multiplied by it
  Activation activation = Activation::kSilu;
  bool qk_norm = false;  // RMSNorm of each head of Q and K before rope
  bool qkv_bias = false;
  bool post_norms = false;  // a norm after attention and after the feed-forward block (gemma)
  RopeConfig rope;          // of full-attention layers
  RopeConfig rope_local;    // of sliding-window layers
  YarnConfig yarn;
  std::vector<int64_t> window;  // per layer: 0 = full attention, else the size of the sliding window
};

// Errors: kUnsupported (architecture or rope scaling, by name), kInvalidFile (a key missing or out of range, by name).
Result<ModelConfig> read_config(const gguf::File& file);

}  // namespace toccata::model
