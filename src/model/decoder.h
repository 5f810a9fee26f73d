// The decoder-only transformer that all supported families share; ModelConfig says how they differ.
//
// One forward call is one parallel region. Every phase below is a Team::parallel_for over rows (tokens) or over groups
// of output rows, so each element is computed by one thread in a fixed order and the result does not depend on the
// number of threads, nor on which other rows are in the step.
#pragma once

#include <memory>
#include <vector>

#include "attention/attention.h"
#include "base/aligned_buffer.h"
#include "kernels/dispatch.h"
#include "model/matmul_jobs.h"
#include "model/rope_table.h"
#include "model/runner.h"
#include "model/weights.h"

namespace toccata::model {

class Decoder final : public ModelRunner {
 public:
  static Result<std::unique_ptr<ModelRunner>> create(std::shared_ptr<const gguf::File> file, ModelConfig config,
                                                     const RunnerOptions& options);

  const ModelConfig& config() const override { return config_; }
  const RunnerOptions& options() const override { return options_; }
  kv::Layout kv_layout() const override;
  size_t weight_bytes() const override { return weights_->packed_bytes(); }
  uint64_t matmul_parameters() const override { return weights_->matmul_parameters(); }
  std::string_view isa() const override { return kernels_->isa; }
  size_t logit_stride() const override { return static_cast<size_t>(weights_->output().matrix.padded_rows()); }
  Status forward(const Step& step, kv::Pool& pool, float* logits) override;
  ThreadPool* threads() override { return &threads_; }

 private:
  Decoder(ModelConfig config, const RunnerOptions& options, const kernels::KernelSet* kernels);
  Status allocate();
  Status check(const Step& step, const kv::Pool& pool) const;
  Status check_plan(const SpanInput& span, const kv::Pool& pool) const;
  void lay_out(const Step& step);

  // Which activation forms the given matrices want.
  using KindMask = unsigned;
  static KindMask kinds(std::initializer_list<const Linear*> linears);

  void run(Team& team, const kv::Pool& pool, float* logits);
  void embed(Team& team);
  void layer(Team& team, const kv::Pool& pool, int index);
  void finish_qkv(Team& team, const kv::Pool& pool, int index);
  void attend(Team& team, const kv::Pool& pool, int index);
  void finish_attention(Team& team, const kv::Pool& pool, int index);
  // The Hadamard transform of `heads` heads side by side, in runs of the largest power of two that divides their size.
  void rotate_heads(float* x, int heads) const;
  void keep_logit_rows(Team& team);
  void feed_forward(Team& team, const LayerWeights& w);
  void project_logits(Team& team, float* logits);
  // A phase has ended, at a barrier: its time since the mark before.
  void mark(const Team& team, double PhaseTimes::*phase) {
    if (phases_ != nullptr && team.rank() == 0) add_phase(phase);
  }
  void add_phase(double PhaseTimes::*phase);

  // x += post_norm(branch) (post_norm null: x += branch; branch null: nothing), then norm(x) quantised.
  void residual_norm(Team& team, const float* branch, const float* post_norm, const float* norm, KindMask mask);
  void quantize_row(const float* source, int64_t row, int64_t cols, KindMask mask);
  void multiply(Team& team, std::span<const MatmulTarget> targets);
  float* thread_row(const Team& team) const { return temp_.as<float>() + static_cast<size_t>(team.rank()) * widest_; }

  ModelConfig config_;
  RunnerOptions options_;
  const kernels::KernelSet* kernels_;
  ThreadPool threads_;
  std::unique_ptr<Weights> weights_;
  std::unique_ptr<attention::Attention> attention_;
  RopeTable rope_, rope_local_;

  // Activations, all [max_rows][...]; sizes in floats unless bytes are named.
  size_t q_width_ = 0, kv_width_ = 0, qkv_stride_ = 0, ff_width_ = 0, dim_width_ = 0, widest_ = 0;
  AlignedBuffer x_;                        // residual stream [dim]
  AlignedBuffer qkv_;                      // [q | k | v]
  AlignedBuffer q_sink_;                   // q a second time, as it meets the sinks of an eviction policy [q_dim]
  AlignedBuffer attn_;                     // attention output [q_dim]
  AlignedBuffer branch_;                   // output of the attention or feed-forward branch [dim padded]
  AlignedBuffer gate_up_;                  // [gate | up]
  AlignedBuffer act_[kernels::kActKinds];  // activation rows, kernels::act_row_bytes apart
  AlignedBuffer cos_, sin_, cos_local_, sin_local_, cos_sink_, sin_sink_;
  AlignedBuffer temp_;     // one row per thread
  AlignedBuffer scratch_;  // kMatmulScratchBytes per thread

  // The step, flattened.
  int64_t rows_ = 0;
  std::vector<int32_t> tokens_;
  std::vector<int64_t> positions_;
  std::vector<int64_t> sink_positions_;  // of q_sink_; -1: the row needs none
  std::vector<int32_t> logit_rows_;
  std::vector<attention::Span> spans_;
  PhaseTimes* phases_ = nullptr;
  double phase_begin_ = 0.0;
};

}  // namespace toccata::model
