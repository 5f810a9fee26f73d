// Seeded models of a few layers, written as GGUF on the fly, one for each architecture and weight type.
#pragma once

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "format/gguf/test_writer.h"
#include "model/config.h"
#include "support/oracle_decoder.h"
#include "tensor/dequantize.h"
#include "tensor/half_fields.h"

namespace toccata::test {

struct TinyOptions {
  std::string arch = "llama";
  std::vector<DType> types = {DType::kF32};  // matrices take them in turn
  int layers = 3, dim = 256, ff = 512, heads = 4, kv_heads = 2, head_dim = 64, vocab = 330;
  int context = 4096;
  bool tied = true, rope_factors = false, yarn = false;
  unsigned seed = 1;
};

// Random rows whose values have a size of about 1 / sqrt(cols).
inline std::string random_rows(DType type, int64_t rows, int64_t cols, std::mt19937& rng) {
  const DTypeInfo& info = dtype_info(type);
  std::string out(row_bytes(type, cols) * static_cast<size_t>(rows), '\0');
  const float sigma = 1.0f / std::sqrt(static_cast<float>(cols));
  std::normal_distribution<float> normal(0.0f, sigma);
  const size_t bytes = static_cast<size_t>(info.block_bytes);
  for (size_t at = 0; at < out.size(); at += bytes) {
    char* block = out.data() + at;
    const float x = normal(rng);
    const uint16_t half = f32_to_f16(x), brain = f32_to_bf16(x);
    if (type == DType::kF32)
      std::memcpy(block, &x, 4);
    else if (type == DType::kF16)
      std::memcpy(block, &half, 2);
    else if (type == DType::kBF16)
      std::memcpy(block, &brain, 2);
    else {
      for (size_t i = 0; i < bytes; ++i) block[i] = static_cast<char>(rng());
      const bool wide = info.block_elems == 256;  // sub-block scales multiply the block's
      const HalfFields halves = half_fields(type);
      for (int offset : {halves.first, halves.second}) {
        if (offset < 0) continue;
        const float spread = type == DType::kQ6_K                             ? 1350.0f
                             : type == DType::kIQ4_XS                         ? 1080.0f
                             : type == DType::kQ8_0 || type == DType::kIQ4_NL ? 70.0f
                             : wide                                           ? 300.0f
                                                                              : 6.0f;
        const uint16_t d = f32_to_f16(sigma / spread * (0.7f + 0.01f * static_cast<float>(rng() % 60)));
        std::memcpy(block + offset, &d, 2);
      }
      if (type == DType::kMXFP4) block[0] = static_cast<char>(120 + rng() % 3);
    }
  }
  return out;
}

class TinyModel {
 public:
  explicit TinyModel(const TinyOptions& options) : o_(options), rng_(options.seed) {
    keys();
    matrix("token_embd.weight", o_.vocab, o_.dim);
    for (int l = 0; l < o_.layers; ++l) layer("blk." + std::to_string(l) + ".");
    vector("output_norm.weight", o_.dim, 1.0f);
    if (!o_.tied) matrix("output.weight", o_.vocab, o_.dim);
    if (o_.rope_factors) vector("rope_freqs.weight", o_.head_dim / 2, 3.0f);
    path_ = folder_.write("model.gguf", writer_.bytes());
  }

  const std::string& path() const { return path_; }
  // The exact weights in f32, for the oracle.
  OracleDecoder oracle(const model::ModelConfig& config) const { return {config, weights_}; }

 private:
  void keys() {
    const std::string a = o_.arch + ".";
    writer_.text("general.architecture", o_.arch);
    writer_.u32(a + "block_count", static_cast<uint32_t>(o_.layers));
    writer_.u32(a + "embedding_length", static_cast<uint32_t>(o_.dim));
    writer_.u32(a + "feed_forward_length", static_cast<uint32_t>(o_.ff));
    writer_.u32(a + "attention.head_count", static_cast<uint32_t>(o_.heads));
    writer_.u32(a + "attention.head_count_kv", static_cast<uint32_t>(o_.kv_heads));
    writer_.u32(a + "attention.key_length", static_cast<uint32_t>(o_.head_dim));
    writer_.u32(a + "attention.value_length", static_cast<uint32_t>(o_.head_dim));
    writer_.u32(a + "context_length", static_cast<uint32_t>(o_.context));
    writer_.f32(a + "attention.layer_norm_rms_epsilon", 1e-5f);
    if (o_.arch == "gemma3") writer_.u32(a + "attention.sliding_window", 48);
    if (o_.yarn) {
      writer_.text(a + "rope.scaling.type", "yarn");
      writer_.f32(a + "rope.scaling.factor", 4.0f);
      writer_.u32(a + "rope.scaling.original_context_length", 64);
    }
  }

  void layer(const std::string& p) {
    const int q = o_.heads * o_.head_dim, kv = o_.kv_heads * o_.head_dim;
    vector(p + "attn_norm.weight", o_.dim, 1.0f);
    matrix(p + "attn_q.weight", q, o_.dim);
    matrix(p + "attn_k.weight", kv, o_.dim);
    matrix(p + "attn_v.weight", kv, o_.dim);
    if (o_.arch == "qwen2") {
      vector(p + "attn_q.bias", q, 0.3f);
      vector(p + "attn_k.bias", kv, 0.3f);
      vector(p + "attn_v.bias", kv, 0.3f);
    }
    if (o_.arch == "qwen3" || o_.arch == "gemma3") {
      vector(p + "attn_q_norm.weight", o_.head_dim, 1.0f);
      vector(p + "attn_k_norm.weight", o_.head_dim, 1.0f);
    }
    matrix(p + "attn_output.weight", o_.dim, q);
    if (o_.arch == "gemma3") vector(p + "post_attention_norm.weight", o_.dim, 1.0f);
    vector(p + "ffn_norm.weight", o_.dim, 1.0f);
    matrix(p + "ffn_gate.weight", o_.ff, o_.dim);
    matrix(p + "ffn_up.weight", o_.ff, o_.dim);
    matrix(p + "ffn_down.weight", o_.dim, o_.ff);
    if (o_.arch == "gemma3") vector(p + "post_ffw_norm.weight", o_.dim, 1.0f);
  }

  void matrix(const std::string& name, int64_t rows, int64_t cols) {
    const DType type = o_.types[count_++ % o_.types.size()];
    const std::string data = random_rows(type, rows, cols, rng_);
    keep(name, type, data, rows, cols);
    writer_.tensor(name, type, {cols, rows}, data);
  }

  void vector(const std::string& name, int64_t n, float around) {
    std::vector<float> v(static_cast<size_t>(n));
    std::uniform_real_distribution<float> d(0.5f * around, 1.5f * around);
    for (float& x : v) x = d(rng_);
    std::string data(v.size() * 4, '\0');
    std::memcpy(data.data(), v.data(), data.size());
    keep(name, DType::kF32, data, 1, n);
    writer_.tensor(name, DType::kF32, {n}, data);
  }

  void keep(const std::string& name, DType type, const std::string& data, int64_t rows, int64_t cols) {
    std::vector<float>& w = weights_[name];
    w.resize(static_cast<size_t>(rows * cols));
    for (int64_t r = 0; r < rows; ++r) {
      dequantize_row(type,
                     reinterpret_cast<const std::byte*>(data.data()) + static_cast<size_t>(r) * row_bytes(type, cols),
                     cols, w.data() + r * cols);
    }
  }

  TinyOptions o_;
  std::mt19937 rng_;
  gguf::Writer writer_;
  gguf::TestFolder folder_;
  std::map<std::string, std::vector<float>> weights_;
  std::string path_;
  size_t count_ = 0;
};

}  // namespace toccata::test
