// A small world for the attention tests: sequences of random q, k and v, a pool whose free memory is poisoned with
// NaN, and an oracle in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "attention/attention.h"
#include "kernels/generic/kv_quant.h"
#include "tensor/dequantize.h"

namespace toccata::attention::testing {

struct Shape {
  int heads = 4;
  int kv_heads = 2;
  int head_dim = 64;
  DType k_type = DType::kF16, v_type = DType::kF16;
  int64_t window = 0;
  float scale = 0.125f;
  kv::CachePlan plan = {};
};

// Rows of q | k | v of one token, uniform in [-4, 4). Sequence numbers from kSinkQueries on give another q, which meets
// the sinks.
constexpr uint64_t kSinkQueries = 1 << 20;
inline std::vector<float> token_row(const Shape& s, uint64_t sequence, int64_t pos) {
  std::vector<float> row(static_cast<size_t>((s.heads + 2 * s.kv_heads) * s.head_dim));
  uint64_t state = (sequence + 1) << 32 | static_cast<uint64_t>(pos);
  for (float& x : row) {  // splitmix64 (Steele, Lea, Flood 2014)
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    x = static_cast<float>(static_cast<double>(z >> 32) * 0x1p-29 - 4.0);
  }
  return row;
}

// The K (or V) that the cache holds of one token and head, `x` of `dim` channels.
inline std::vector<float> cached(DType type, bool value, const float* x, int dim) {
  std::vector<float> row(x, x + dim);
  std::vector<std::byte> block(
      static_cast<size_t>(std::max(kernels::kv_k_bytes(DType::kF32, dim), kernels::kv_v_bytes(DType::kF32, dim))));
  if (kernels::kv_quantised(type)) kernels::generic::store_quantised(type, x, dim, 0, value, block.data());
  for (int d = 0; d < dim; ++d) {
    float& y = row[static_cast<size_t>(d)];
    if (type == DType::kF16) y = f16_to_f32(f32_to_f16(y));
    if (type == DType::kBF16) y = bf16_to_f32(f32_to_bf16(y));
    if (!kernels::kv_quantised(type)) continue;
    y = value ? kernels::generic::load_v(type, block.data(), dim, 0, d)
              : kernels::generic::load_k(type, block.data(), dim, 0, d);
  }
  return row;
}

// Work for one sequence in one step.
struct Chunk {
  int sequence = 0;
  int tokens = 0;
};

class World {
 public:
  World(const Shape& shape, const kernels::KernelSet& kernels, Method method, int threads, int sequences,
        int64_t length)
      : shape_(shape), threads_(threads), length_(length) {
    const kv::Layout layout{2, shape.kv_heads, shape.head_dim, shape.k_type, shape.v_type};
    const int64_t per_sequence = shape.plan.blocks(length);
    pool_ = std::make_unique<kv::Pool>(std::move(*kv::Pool::create(layout, per_sequence * sequences + 3)));
    for (int64_t b = 0; b < pool_->capacity(); ++b) {
      for (int l = 0; l < 2; ++l)
        std::memset(pool_->head(l, static_cast<kv::BlockId>(b), 0), 0xff, layout.block_bytes());
    }
    attention_ = make_attention(method, kernels, layout, shape.heads, threads);
    sequences_.resize(static_cast<size_t>(sequences));
    for (int64_t i = 0; i < per_sequence; ++i) {  // interleaved, so that no sequence is contiguous
      for (Sequence& s : sequences_) s.blocks.push_back(*pool_->allocate());
    }
    for (Sequence& s : sequences_) {
      if (shape.plan.ranking) s.state = std::move(*kv::RankedState::create(shape.plan, 2, shape.kv_heads));
      s.out.resize(static_cast<size_t>(length * shape.heads * shape.head_dim), -7.0f);
    }
  }

  void step(const std::vector<Chunk>& chunks) {
    std::vector<Span> spans;
    std::vector<float> rows, sink_rows;
    int32_t count = 0;
    for (const Chunk& c : chunks) {
      Sequence& s = sequences_[static_cast<size_t>(c.sequence)];
      spans.push_back({s.blocks.data(), s.length, c.tokens, count, &shape_.plan, &s.state});
      for (int t = 0; t < c.tokens; ++t) {
        const std::vector<float> row = token_row(shape_, static_cast<uint64_t>(c.sequence), s.length + t);
        rows.insert(rows.end(), row.begin(), row.end());
        const std::vector<float> other =
            token_row(shape_, kSinkQueries + static_cast<uint64_t>(c.sequence), s.length + t);
        sink_rows.insert(sink_rows.end(), other.begin(), other.end());
      }
      count += c.tokens;
    }
    const size_t q_width = static_cast<size_t>(shape_.heads * shape_.head_dim);
    const size_t kv_width = static_cast<size_t>(shape_.kv_heads * shape_.head_dim);
    Args args;
    args.pool = pool_.get();
    args.layer = 1;
    args.heads = shape_.heads;
    args.scale = shape_.scale;
    args.window = shape_.window;
    args.spans = spans;
    args.q = rows.data();
    args.k = args.q + q_width;
    args.v = args.k + kv_width;
    args.q_sink = sink_rows.data();
    args.q_stride = args.k_stride = args.v_stride = args.q_sink_stride = q_width + 2 * kv_width;
    std::vector<float> out(static_cast<size_t>(count) * q_width, -3.0f);
    args.out = out.data();
    args.out_stride = q_width;
    threads_.run([&](Team& team) { attention_->run(team, args); });
    size_t row = 0;
    for (const Chunk& c : chunks) {
      Sequence& s = sequences_[static_cast<size_t>(c.sequence)];
      const size_t n = static_cast<size_t>(c.tokens) * q_width;
      if (n > 0)
        std::memcpy(s.out.data() + static_cast<size_t>(s.length) * q_width, out.data() + row, n * sizeof(float));
      s.length += c.tokens;
      row += n;
    }
  }

  // The whole of one sequence in equal chunks.
  void feed(int sequence, int chunk) {
    Sequence& s = sequences_[static_cast<size_t>(sequence)];
    while (s.length < length_) step({{sequence, static_cast<int>(std::min<int64_t>(chunk, length_ - s.length))}});
  }

  // The block table names no block for the first `count` any more.
  void drop_blocks(int sequence, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      sequences_[static_cast<size_t>(sequence)].blocks[static_cast<size_t>(i)] = -1000000;
  }

  const std::vector<float>& out(int sequence) const { return sequences_[static_cast<size_t>(sequence)].out; }
  int64_t position(int sequence) const { return sequences_[static_cast<size_t>(sequence)].length; }
  const Attention& attention() const { return *attention_; }

 private:
  struct Sequence {
    std::vector<kv::BlockId> blocks;
    kv::RankedState state;
    int64_t length = 0;
    std::vector<float> out;
  };
  Shape shape_;
  ThreadPool threads_;
  int64_t length_;
  std::unique_ptr<kv::Pool> pool_;
  std::unique_ptr<Attention> attention_;
  std::vector<Sequence> sequences_;
};

// softmax(scale q K^T) V of one token and head in double precision, on K and V as the cache rounds them.
inline std::vector<double> oracle(const Shape& s, int sequence, int64_t pos, int head) {
  const int dim = s.head_dim, kv = head / (s.heads / s.kv_heads);
  const uint64_t seed = static_cast<uint64_t>(sequence);
  const std::vector<float> own = token_row(s, seed, pos), to_sinks = token_row(s, kSinkQueries + seed, pos);
  // A layer's own window counts before a policy.
  const bool streams = s.window == 0 && s.plan.evicted(pos + 1);
  const int64_t sinks = streams ? s.plan.sinks : 0, window = streams ? s.plan.budget - sinks : s.window;
  const int64_t first = window > 0 ? std::max<int64_t>(0, pos - window + 1) : 0;
  std::vector<double> weight, sum(static_cast<size_t>(dim), 0.0);
  std::vector<std::vector<float>> values;
  double largest = -1e300, total = 0.0;
  for (int64_t j = sinks > 0 ? 0 : first; j <= pos; j = j + 1 == sinks ? first : j + 1) {
    const std::vector<float> row = token_row(s, seed, j);
    const std::vector<float> key = cached(s.k_type, false, row.data() + (s.heads + kv) * dim, dim);
    values.push_back(cached(s.v_type, true, row.data() + (s.heads + s.kv_heads + kv) * dim, dim));
    double score = 0.0;
    for (int d = 0; d < dim; ++d) {
      score += static_cast<double>((j < sinks ? to_sinks : own)[static_cast<size_t>(head * dim + d)]) *
               key[static_cast<size_t>(d)];
    }
    weight.push_back(score * s.scale);
    largest = std::max(largest, weight.back());
  }
  for (size_t j = 0; j < weight.size(); ++j) {
    const double p = std::exp(weight[j] - largest);
    total += p;
    for (int d = 0; d < dim; ++d) {
      sum[static_cast<size_t>(d)] += p * values[j][static_cast<size_t>(d)];
    }
  }
  for (double& x : sum) x /= total;
  return sum;
}

}  // namespace toccata::attention::testing
