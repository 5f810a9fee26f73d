#include "model/runner.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/clock.h"
#include "base/cpu_features.h"
#include "model/decoder.h"

namespace toccata::model {

int64_t Step::rows() const {
  int64_t n = 0;
  for (const SpanInput& s : spans) n += static_cast<int64_t>(s.tokens.size());
  return n;
}

int64_t Step::logit_rows() const {
  int64_t n = 0;
  for (const SpanInput& s : spans) {
    if (s.logits_from >= 0) n += static_cast<int64_t>(s.tokens.size()) - s.logits_from;
  }
  return n;
}

Result<std::unique_ptr<ModelRunner>> ModelRunner::load(std::shared_ptr<const gguf::File> file,
                                                       const RunnerOptions& options) {
  Result<ModelConfig> config = read_config(*file);
  if (!config) return tl::unexpected(config.error());
  return Decoder::create(std::move(file), std::move(*config), options);
}

Decoder::Decoder(ModelConfig config, const RunnerOptions& options, const kernels::KernelSet* kernels)
    : config_(std::move(config)),
      options_(options),
      kernels_(kernels),
      threads_(options.threads),
      rope_(config_.rope, config_.yarn, nullptr),
      rope_local_(config_.rope_local, YarnConfig{}, nullptr) {
  std::vector<int>& layers = options_.f16_layers;
  std::sort(layers.begin(), layers.end());
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
}

Result<std::unique_ptr<ModelRunner>> Decoder::create(std::shared_ptr<const gguf::File> file, ModelConfig config,
                                                     const RunnerOptions& options) {
  RunnerOptions o = options;
  if (!o.kernels) {
    Result<const kernels::KernelSet*> kernels = kernels::select_kernels();
    if (!kernels) return tl::unexpected(kernels.error());
    o.kernels = *kernels;
  }
  if (o.threads == 0) o.threads = cpu_features().logical_cpus;
  if (o.threads < 1 || o.threads > 1024) return fail(ErrorCode::kInvalidArgument, "threads must be 1 to 1024");
  if (o.max_rows < 1 || o.max_rows > (1 << 20)) {
    return fail(ErrorCode::kInvalidArgument, "the most tokens per step must be 1 to 1048576");
  }
  for (const int layer : o.f16_layers) {
    if (layer < 0 || layer >= config.layers) {
      return fail(ErrorCode::kInvalidArgument, "layer " + std::to_string(layer) +
                                                   " cannot keep an f16 cache: the model has layers 0 to " +
                                                   std::to_string(config.layers - 1));
    }
  }
  std::unique_ptr<Decoder> d(new Decoder(std::move(config), o, o.kernels));
  Result<std::unique_ptr<Weights>> weights = Weights::load(std::move(file), d->config_, d->threads_, o.progress);
  if (!weights) return tl::unexpected(weights.error());
  d->weights_ = std::move(*weights);
  if (d->weights_->rope_factors()) d->rope_ = RopeTable(d->config_.rope, d->config_.yarn, d->weights_->rope_factors());
  if (Status s = d->allocate(); !s) return tl::unexpected(s.error());
  return d;
}

kv::Layout Decoder::kv_layout() const {
  kv::Layout l;
  l.layers = config_.layers;
  l.kv_heads = config_.kv_heads;
  l.head_dim = config_.head_dim;
  l.k_type = options_.k_type;
  l.v_type = options_.v_type;
  l.f16_layers = options_.f16_layers;
  return l;
}

Status Decoder::allocate() {
  const auto padded = [](int64_t n) {
    return static_cast<size_t>((n + kernels::kGroupRows - 1) / kernels::kGroupRows * kernels::kGroupRows);
  };
  const size_t rows = static_cast<size_t>(options_.max_rows);
  const size_t threads = static_cast<size_t>(options_.threads);
  const int64_t q_dim = int64_t{config_.heads} * config_.head_dim;
  q_width_ = padded(q_dim);
  kv_width_ = padded(int64_t{config_.kv_heads} * config_.head_dim);
  qkv_stride_ = q_width_ + 2 * kv_width_;
  ff_width_ = padded(config_.ff_dim);
  dim_width_ = padded(config_.dim);
  const int64_t widest = std::max({q_dim, int64_t{config_.ff_dim}, int64_t{config_.dim}});
  widest_ = padded(widest);

  Status status;
  const auto get = [&status](AlignedBuffer& buffer, size_t bytes) {
    if (!status) return;
    Result<AlignedBuffer> r = AlignedBuffer::allocate(bytes);
    if (r)
      buffer = std::move(*r);
    else
      status = tl::unexpected(r.error());
  };
  get(x_, rows * static_cast<size_t>(config_.dim) * sizeof(float));
  get(qkv_, rows * qkv_stride_ * sizeof(float));
  get(attn_, rows * static_cast<size_t>(q_dim) * sizeof(float));
  get(q_sink_, rows * static_cast<size_t>(q_dim) * sizeof(float));
  get(branch_, rows * dim_width_ * sizeof(float));
  get(gate_up_, rows * 2 * ff_width_ * sizeof(float));
  // Rounded up to a whole run: widths that are no multiple of 32 never meet a quantised format.
  const int64_t act_cols = (widest + 31) / 32 * 32;
  for (int k = 0; k < kernels::kActKinds; ++k) {
    get(act_[k], rows * kernels::act_row_bytes(static_cast<kernels::ActKind>(k), act_cols));
  }
  const size_t half = static_cast<size_t>(rope_.half_dim()), half_local = static_cast<size_t>(rope_local_.half_dim());
  get(cos_, rows * half * sizeof(float));
  get(sin_, rows * half * sizeof(float));
  get(cos_sink_, rows * half * sizeof(float));
  get(sin_sink_, rows * half * sizeof(float));
  const bool any_local = std::any_of(config_.window.begin(), config_.window.end(), [](int64_t w) { return w > 0; });
  if (any_local && !(config_.rope_local == config_.rope)) {
    get(cos_local_, rows * half_local * sizeof(float));
    get(sin_local_, rows * half_local * sizeof(float));
  }
  get(temp_, threads * widest_ * sizeof(float));
  get(scratch_, threads * kernels::kMatmulScratchBytes);
  if (!status) return status;
  tokens_.resize(rows);
  positions_.resize(rows);
  sink_positions_.resize(rows);
  logit_rows_.reserve(rows);
  spans_.reserve(rows);
  attention_ = attention::make_attention(options_.attention, *kernels_, kv_layout(), config_.heads, options_.threads);
  if (!attention_) return fail(ErrorCode::kResourceExhausted, "not enough memory for the scratch of attention");
  return {};
}

kv::ModelShape kv_shape(const ModelConfig& config) {
  return {config.window.empty() ? 0 : *std::max_element(config.window.begin(), config.window.end())};
}

Status check_plan(const ModelConfig& config, const RunnerOptions& options, const kv::CachePlan& plan) {
  if (!plan.evicts()) return {};
  if (options.attention == attention::Method::kNaive) {
    return fail(ErrorCode::kInvalidArgument,
                "naive attention keeps every token: use --attention flash with an eviction policy");
  }
  if (plan.ranking && config.heads > kernels::kAttnRows * config.kv_heads) {
    return fail(ErrorCode::kInvalidArgument, "a KV policy by rank takes at most " + std::to_string(kernels::kAttnRows) +
                                                 " query heads per KV head: use streaming");
  }
  return {};
}

// Under an eviction policy a step reads and writes all entries of the table.
Status Decoder::check_plan(const SpanInput& s, const kv::Pool& pool) const {
  if (!s.plan || !s.plan->evicts()) return {};
  if (Status fits = model::check_plan(config_, options_, *s.plan); !fits) return fits;
  const int64_t entries = s.plan->blocks(s.first_pos + std::ssize(s.tokens));
  for (int64_t i = 0; i < entries; ++i) {
    if (s.blocks[i] < 0 || s.blocks[i] >= pool.capacity()) {
      return fail(ErrorCode::kInvalidArgument, "a block table names a block outside the pool");
    }
  }
  if (s.plan->ranking && !s.state) return fail(ErrorCode::kInvalidArgument, "a KV policy by rank needs its state");
  return {};
}

Status Decoder::check(const Step& step, const kv::Pool& pool) const {
  if (!(kv_layout() == pool.layout())) {
    return fail(ErrorCode::kInvalidArgument, "the KV pool's layout is not this model's");
  }
  if (step.rows() < 1 || step.rows() > options_.max_rows) {
    return fail(ErrorCode::kInvalidArgument, "a step of " + std::to_string(step.rows()) +
                                                 " tokens is not within 1 to " + std::to_string(options_.max_rows));
  }
  for (const SpanInput& s : step.spans) {
    if (s.tokens.empty() || s.first_pos < 0 || !s.blocks) {
      return fail(ErrorCode::kInvalidArgument, "a span needs tokens, blocks and a position that is not negative");
    }
    if (Status fits = check_plan(s, pool); !fits) return fits;
    if (s.logits_from < -1 || s.logits_from >= static_cast<int64_t>(s.tokens.size())) {
      return fail(ErrorCode::kInvalidArgument, "logits_from is outside its span");
    }
    for (int32_t t : s.tokens) {
      if (t < 0 || t >= config_.vocab) {
        return fail(ErrorCode::kInvalidArgument,
                    "token id " + std::to_string(t) + " is outside the vocabulary of " + std::to_string(config_.vocab));
      }
    }
    const int64_t last = s.first_pos + static_cast<int64_t>(s.tokens.size()) - 1;
    for (int64_t b = s.first_pos / kernels::kKvBlock; b <= last / kernels::kKvBlock; ++b) {
      const kv::BlockId block = s.blocks[s.entry(b)];
      if (block < 0 || block >= pool.capacity()) {
        return fail(ErrorCode::kInvalidArgument, "a block table names a block outside the pool");
      }
    }
  }
  if (step.logit_rows() > options_.max_logit_rows) {
    return fail(ErrorCode::kInvalidArgument, "a step asks for " + std::to_string(step.logit_rows()) +
                                                 " logit rows, more than " + std::to_string(options_.max_logit_rows));
  }
  return {};
}

void Decoder::lay_out(const Step& step) {
  rows_ = 0;
  spans_.clear();
  logit_rows_.clear();
  for (const SpanInput& s : step.spans) {
    spans_.push_back(
        {s.blocks, s.first_pos, static_cast<int32_t>(s.tokens.size()), static_cast<int32_t>(rows_), s.plan, s.state});
    for (size_t i = 0; i < s.tokens.size(); ++i) {
      tokens_[static_cast<size_t>(rows_)] = s.tokens[i];
      const int64_t position = s.first_pos + static_cast<int64_t>(i);
      positions_[static_cast<size_t>(rows_)] = position;
      const bool second = s.plan && !s.plan->ranking && s.plan->sinks > 0 && s.plan->evicted(position + 1);
      sink_positions_[static_cast<size_t>(rows_)] = second ? s.plan->budget - 1 : -1;
      if (s.logits_from >= 0 && static_cast<int64_t>(i) >= s.logits_from) {
        logit_rows_.push_back(static_cast<int32_t>(rows_));
      }
      ++rows_;
    }
  }
}

Status Decoder::forward(const Step& step, kv::Pool& pool, float* logits) {
  if (Status s = check(step, pool); !s) return s;
  lay_out(step);
  phases_ = step.phases;
  if (phases_ != nullptr) phase_begin_ = monotonic_seconds();
  threads_.run([&](Team& team) { run(team, pool, logits); });
  return {};
}

}  // namespace toccata::model
