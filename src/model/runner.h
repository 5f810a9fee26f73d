// ModelRunner: the boundary between policy (sequences, scheduling, sampling) and mechanism (kernels, weights).
// Nothing above it knows about instruction sets; nothing below it knows about requests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attention/attention.h"
#include "base/thread_pool.h"
#include "format/gguf/gguf.h"
#include "kv/cache_types.h"
#include "kv/pool.h"
#include "model/config.h"
#include "toccata/result.h"

namespace toccata::model {

// A span of a step: consecutive tokens of one sequence (a decode is a span of 1, a prefill chunk a span of many).
struct SpanInput {
  const kv::BlockId* blocks = nullptr;  // block table with plan->blocks(first_pos + tokens.size()) entries
  int64_t first_pos = 0;
  std::span<const int32_t> tokens;
  int32_t logits_from = -1;             // logits for tokens [logits_from, size); -1: for none
  const kv::CachePlan* plan = nullptr;  // the sequence's eviction policy, the same in each of its steps; null: none
  kv::RankedState* state = nullptr;     // of a plan by rank; changes with each step

  int64_t entry(int64_t block) const { return plan ? plan->entry(block) : block; }
};

// Seconds of a step's phases, each summed over the layers.
struct PhaseTimes {
  double embed = 0.0;
  double qkv = 0.0;        // norm, products of Q, K and V, rotation
  double attention = 0.0;  // with writing K and V to the cache
  double output = 0.0;     // product of the attention's output
  double ffn = 0.0;        // residual, norm, gate, up, activation, down
  double logits = 0.0;     // last norm and the output layer
};

struct Step {
  std::span<const SpanInput> spans;
  PhaseTimes* phases = nullptr;  // measured and added to, if not null
  int64_t rows() const;
  int64_t logit_rows() const;
};

struct RunnerOptions {
  int threads = 0;               // 0: all CPUs of this process
  int64_t max_rows = 512;        // most tokens in one step; sizes the activation buffers
  int64_t max_logit_rows = 512;  // most logit rows in one step
  attention::Method attention = attention::Method::kFlash;
  DType k_type = DType::kF16, v_type = DType::kF16;
  kv::Rotation kv_rotation = kv::Rotation::kAuto;
  std::vector<int> f16_layers;  // that keep an f16 cache whatever the types, without rotation if that is kAuto
  const kernels::KernelSet* kernels = nullptr;  // null: kernels::select_kernels(); tests compare several
  std::function<void(double)> progress;         // 0..1 while loading; may be empty
};

kv::ModelShape kv_shape(const ModelConfig& config);  // for kv::make_plan()
// Whether attention can follow the plan. kInvalidArgument: names the options and the fix.
Status check_plan(const ModelConfig& config, const RunnerOptions& options, const kv::CachePlan& plan);

class ModelRunner {
 public:
  static Result<std::unique_ptr<ModelRunner>> load(std::shared_ptr<const gguf::File> file,
                                                   const RunnerOptions& options);
  virtual ~ModelRunner() = default;

  virtual const ModelConfig& config() const = 0;
  virtual const RunnerOptions& options() const = 0;
  virtual kv::Layout kv_layout() const = 0;
  virtual size_t weight_bytes() const = 0;         // packed weights: what a decode step reads
  virtual uint64_t matmul_parameters() const = 0;  // P of the 2 P operations per token, output layer included
  virtual std::string_view isa() const = 0;

  // Writes K and V of all tokens into the pool and fills logits row by row in span order: logit_rows() rows of
  // logit_stride() floats (vocab, padded). Token ids must be in [0, vocab). Errors: kInvalidArgument (checked before
  // anything is written). No allocation after load.
  virtual Status forward(const Step& step, kv::Pool& pool, float* logits) = 0;
  virtual size_t logit_stride() const = 0;

  // The threads that forward() uses, for other work between two calls of it. May be null.
  virtual ThreadPool* threads() { return nullptr; }
};

}  // namespace toccata::model
