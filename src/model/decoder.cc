#include "model/decoder.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/clock.h"

namespace toccata::model {

using kernels::ActKind;

Decoder::KindMask Decoder::kinds(std::initializer_list<const Linear*> linears) {
  KindMask mask = 0;
  for (const Linear* l : linears) mask |= 1u << static_cast<unsigned>(kernels::act_kind(l->matrix.type));
  return mask;
}

void Decoder::quantize_row(const float* source, int64_t row, int64_t cols, KindMask mask) {
  for (int k = 0; k < kernels::kActKinds; ++k) {
    if (!(mask >> k & 1u)) continue;
    const ActKind kind = static_cast<ActKind>(k);
    kernels_->matmul->quantize_act(kind, source, cols,
                                   act_[k].data() + static_cast<size_t>(row) * kernels::act_row_bytes(kind, cols));
  }
}

void Decoder::residual_norm(Team& team, const float* branch, const float* post_norm, const float* norm, KindMask mask) {
  const kernels::VecKernels& vec = *kernels_->vec;
  const int64_t dim = config_.dim;
  float* temp = thread_row(team);
  team.parallel_for(rows_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float* x = x_.as<float>() + r * dim;
      if (branch) {
        const float* y = branch + static_cast<size_t>(r) * dim_width_;
        if (post_norm) {
          vec.rms_norm(y, post_norm, dim, config_.norm_eps, temp);
          y = temp;
        }
        vec.add(x, y, dim, x);
      }
      vec.rms_norm(x, norm, dim, config_.norm_eps, temp);
      quantize_row(temp, r, dim, mask);
    }
  });
}

void Decoder::multiply(Team& team, std::span<const MatmulTarget> targets) {
  ActRows act;
  for (int k = 0; k < kernels::kActKinds; ++k) act.data[k] = act_[k].data();
  run_matmuls(team, *kernels_->matmul, targets, act, rows_,
              scratch_.data() + static_cast<size_t>(team.rank()) * kernels::kMatmulScratchBytes);
}

void Decoder::embed(Team& team) {
  const int half = rope_.half_dim(), half_local = rope_local_.half_dim();
  const bool local = cos_local_.size() > 0;
  team.parallel_for(rows_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const size_t row = static_cast<size_t>(r);
      float* x = x_.as<float>() + r * config_.dim;
      weights_->embedding(tokens_[row], x);
      if (config_.embedding_scale != 1.0f) kernels_->vec->scale(x, config_.embedding_scale, config_.dim, x);
      rope_.fill(positions_[row], cos_.as<float>() + r * half, sin_.as<float>() + r * half);
      if (sink_positions_[row] >= 0) {
        rope_.fill(sink_positions_[row], cos_sink_.as<float>() + r * half, sin_sink_.as<float>() + r * half);
      }
      if (local) {
        rope_local_.fill(positions_[row], cos_local_.as<float>() + r * half_local,
                         sin_local_.as<float>() + r * half_local);
      }
    }
  });
}

// Bias, QK norm and rotary embedding of the rows that the products left in qkv_, and what the cache wants of them.
void Decoder::finish_qkv(Team& team, const kv::Pool& pool, int index) {
  const LayerWeights& w = weights_->layers()[static_cast<size_t>(index)];
  const bool local = config_.window[static_cast<size_t>(index)] > 0 && cos_local_.size() > 0;
  const bool rotate_k = kv::rotates(options_.kv_rotation, pool.layout(index).k_type);
  const bool rotate_v = kv::rotates(options_.kv_rotation, pool.layout(index).v_type);
  const kernels::VecKernels& vec = *kernels_->vec;
  const RopeConfig& rope = local ? config_.rope_local : config_.rope;
  const float* cos = local ? cos_local_.as<float>() : cos_.as<float>();
  const float* sin = local ? sin_local_.as<float>() : sin_.as<float>();
  const int hd = config_.head_dim;
  const size_t q_dim = static_cast<size_t>(config_.heads) * static_cast<size_t>(hd);
  team.parallel_for(rows_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float* q = qkv_.as<float>() + static_cast<size_t>(r) * qkv_stride_;
      float* k = q + q_width_;
      float* v = k + kv_width_;
      if (w.q.bias) vec.add(q, w.q.bias, w.q.matrix.rows, q);
      if (w.k.bias) vec.add(k, w.k.bias, w.k.matrix.rows, k);
      if (w.v.bias) vec.add(v, w.v.bias, w.v.matrix.rows, v);
      for (int h = 0; w.q_norm && h < config_.heads; ++h) {
        vec.rms_norm(q + h * hd, w.q_norm, hd, config_.norm_eps, q + h * hd);
      }
      for (int h = 0; w.k_norm && h < config_.kv_heads; ++h) {
        vec.rms_norm(k + h * hd, w.k_norm, hd, config_.norm_eps, k + h * hd);
      }
      const int64_t at = r * (rope.dim / 2);
      if (!local && sink_positions_[static_cast<size_t>(r)] >= 0) {
        float* second = q_sink_.as<float>() + static_cast<size_t>(r) * q_dim;
        std::memcpy(second, q, q_dim * sizeof(float));
        vec.rope(second, config_.heads, hd, rope.dim, cos_sink_.as<float>() + at, sin_sink_.as<float>() + at,
                 rope.interleaved);
        if (rotate_k) rotate_heads(second, config_.heads);
      }
      vec.rope(q, config_.heads, hd, rope.dim, cos + at, sin + at, rope.interleaved);
      vec.rope(k, config_.kv_heads, hd, rope.dim, cos + at, sin + at, rope.interleaved);
      if (rotate_k) {
        rotate_heads(q, config_.heads);
        rotate_heads(k, config_.kv_heads);
      }
      if (rotate_v) rotate_heads(v, config_.kv_heads);
    }
  });
}

void Decoder::attend(Team& team, const kv::Pool& pool, int index) {
  attention::Args args;
  args.pool = &pool;
  args.layer = index;
  args.heads = config_.heads;
  args.scale = config_.attn_scale;
  args.window = config_.window[static_cast<size_t>(index)];
  args.spans = spans_;
  args.q = qkv_.as<float>();
  args.k = args.q + q_width_;
  args.v = args.k + kv_width_;
  args.q_stride = args.k_stride = args.v_stride = qkv_stride_;
  args.q_sink = q_sink_.as<float>();
  args.q_sink_stride = static_cast<size_t>(config_.heads) * static_cast<size_t>(config_.head_dim);
  args.out = attn_.as<float>();
  args.out_stride = static_cast<size_t>(config_.heads) * static_cast<size_t>(config_.head_dim);
  attention_->run(team, args);
}

void Decoder::rotate_heads(float* x, int heads) const {
  const int size = config_.head_dim & -config_.head_dim;
  kernels_->vec->hadamard(x, int64_t{heads} * (config_.head_dim / size), size);
}

// Turns the output back if V was rotated, and quantises it for the next product.
void Decoder::finish_attention(Team& team, const kv::Pool& pool, int index) {
  const LayerWeights& w = weights_->layers()[static_cast<size_t>(index)];
  const bool rotate_v = kv::rotates(options_.kv_rotation, pool.layout(index).v_type);
  const int64_t width = int64_t{config_.heads} * config_.head_dim;
  const KindMask mask = kinds({&w.o});
  team.parallel_for(rows_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float* row = attn_.as<float>() + r * width;
      if (rotate_v) rotate_heads(row, config_.heads);
      quantize_row(row, r, width, mask);
    }
  });
}

// After the last layer's attention only rows that need logits matter: moves them to the front.
void Decoder::keep_logit_rows(Team& team) {
  if (team.rank() == 0) {
    const size_t q_dim = static_cast<size_t>(config_.heads) * static_cast<size_t>(config_.head_dim);
    const size_t dim = static_cast<size_t>(config_.dim);
    for (size_t i = 0; i < logit_rows_.size(); ++i) {
      const size_t from = static_cast<size_t>(logit_rows_[i]);
      if (from == i) continue;  // from > i otherwise, so nothing is overwritten before it was moved
      std::memcpy(attn_.as<float>() + i * q_dim, attn_.as<float>() + from * q_dim, q_dim * sizeof(float));
      std::memcpy(x_.as<float>() + i * dim, x_.as<float>() + from * dim, dim * sizeof(float));
    }
    rows_ = static_cast<int64_t>(logit_rows_.size());
  }
  team.barrier();
}

void Decoder::feed_forward(Team& team, const LayerWeights& w) {
  float* gate = gate_up_.as<float>();
  const size_t stride = 2 * ff_width_;
  const MatmulTarget up[] = {{&w.gate.matrix, gate, stride}, {&w.up.matrix, gate + ff_width_, stride}};
  multiply(team, up);
  const auto activate = config_.activation == Activation::kSilu ? kernels_->vec->silu_mul : kernels_->vec->gelu_mul;
  const KindMask mask = kinds({&w.down});
  team.parallel_for(rows_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float* g = gate + static_cast<size_t>(r) * stride;
      float* u = g + ff_width_;
      if (w.gate.bias) kernels_->vec->add(g, w.gate.bias, config_.ff_dim, g);
      if (w.up.bias) kernels_->vec->add(u, w.up.bias, config_.ff_dim, u);
      activate(g, u, config_.ff_dim, g);
      quantize_row(g, r, config_.ff_dim, mask);
    }
  });
  const MatmulTarget down[] = {{&w.down.matrix, branch_.as<float>(), dim_width_}};
  multiply(team, down);
}

namespace {

// Adds an output bias; the common case has none and costs nothing.
void add_bias(Team& team, const kernels::VecKernels& vec, const Linear& linear, float* out, size_t stride,
              int64_t rows) {
  if (!linear.bias) return;
  team.parallel_for(rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float* row = out + static_cast<size_t>(r) * stride;
      vec.add(row, linear.bias, linear.matrix.rows, row);
    }
  });
}

}  // namespace

void Decoder::layer(Team& team, const kv::Pool& pool, int index) {
  const LayerWeights& w = weights_->layers()[static_cast<size_t>(index)];
  const LayerWeights* previous = index > 0 ? &weights_->layers()[static_cast<size_t>(index - 1)] : nullptr;
  float* branch = branch_.as<float>();
  residual_norm(team, previous ? branch : nullptr, previous ? previous->ffn_post_norm : nullptr, w.attn_norm,
                kinds({&w.q, &w.k, &w.v}));
  float* q = qkv_.as<float>();
  const MatmulTarget qkv[] = {{&w.q.matrix, q, qkv_stride_},
                              {&w.k.matrix, q + q_width_, qkv_stride_},
                              {&w.v.matrix, q + q_width_ + kv_width_, qkv_stride_}};
  multiply(team, qkv);
  finish_qkv(team, pool, index);
  mark(team, &PhaseTimes::qkv);
  attend(team, pool, index);
  if (index + 1 == config_.layers) keep_logit_rows(team);
  mark(team, &PhaseTimes::attention);
  if (rows_ == 0) return;
  finish_attention(team, pool, index);
  const MatmulTarget o[] = {{&w.o.matrix, branch, dim_width_}};
  multiply(team, o);
  add_bias(team, *kernels_->vec, w.o, branch, dim_width_, rows_);
  mark(team, &PhaseTimes::output);
  residual_norm(team, branch, w.attn_post_norm, w.ffn_norm, kinds({&w.gate, &w.up}));
  feed_forward(team, w);
  add_bias(team, *kernels_->vec, w.down, branch, dim_width_, rows_);
  mark(team, &PhaseTimes::ffn);
}

void Decoder::project_logits(Team& team, float* logits) {
  residual_norm(team, branch_.as<float>(), weights_->layers().back().ffn_post_norm, weights_->output_norm(),
                kinds({&weights_->output()}));
  const MatmulTarget target[] = {{&weights_->output().matrix, logits, logit_stride()}};
  multiply(team, target);
  mark(team, &PhaseTimes::logits);
}

void Decoder::add_phase(double PhaseTimes::*phase) {
  const double now = monotonic_seconds();
  phases_->*phase += now - phase_begin_;
  phase_begin_ = now;
}

void Decoder::run(Team& team, const kv::Pool& pool, float* logits) {
  embed(team);
  mark(team, &PhaseTimes::embed);
  for (int i = 0; i < config_.layers; ++i) layer(team, pool, i);
  if (rows_ > 0) project_logits(team, logits);
}

}  // namespace toccata::model
