// The weights of a decoder, packed for the kernels.
//
// Matrices are repacked from the mapped file into one arena, in parallel; file pages are released as they are
// consumed, so the peak resident size stays near the file's size. Vectors (norms, biases) become f32.
#pragma once

#include <memory>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "kernels/matmul.h"
#include "model/config.h"
#include "model/runner.h"

namespace toccata::model {

struct Linear {
  kernels::PackedMatrix matrix;
  const float* bias = nullptr;  // padded_rows() floats, or null
};

struct LayerWeights {
  const float* attn_norm = nullptr;
  Linear q, k, v, o;
  const float* q_norm = nullptr;  // per head, head_dim floats; null without QK norm
  const float* k_norm = nullptr;
  const float* attn_post_norm = nullptr;  // null without post norms
  const float* ffn_norm = nullptr;
  Linear gate, up, down;
  const float* ffn_post_norm = nullptr;
};

class Weights {
 public:
  // Errors: kInvalidFile (a tensor missing or of the wrong shape, named), kUnsupported (a tensor that the
  // architecture does not use, named), kResourceExhausted.
  static Result<std::unique_ptr<Weights>> load(std::shared_ptr<const gguf::File> file, const ModelConfig& config,
                                               ThreadPool& pool, const std::function<void(double)>& progress);

  const std::vector<LayerWeights>& layers() const { return layers_; }
  const float* output_norm() const { return output_norm_; }
  const Linear& output() const { return output_; }
  const float* rope_factors() const { return rope_factors_; }  // head_dim / 2 divisors of the frequencies, or null
  size_t packed_bytes() const { return arena_.size(); }
  uint64_t matmul_parameters() const { return matmul_parameters_; }

  // One row of the token embedding, cols = dim floats.
  void embedding(int32_t token, float* out) const;

 private:
  friend class WeightLoader;
  std::shared_ptr<const gguf::File> file_;
  const gguf::Tensor* embedding_ = nullptr;  // read from the file when not tied to the output
  bool tied_ = false;
  AlignedBuffer arena_;
  std::vector<std::vector<float>> vectors_;
  std::vector<LayerWeights> layers_;
  const float* output_norm_ = nullptr;
  Linear output_;
  const float* rope_factors_ = nullptr;
  uint64_t matmul_parameters_ = 0;
};

}  // namespace toccata::model
