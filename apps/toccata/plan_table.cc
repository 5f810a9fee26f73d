#include "plan_table.h"

#include <algorithm>

#include "kv/pool.h"

namespace toccata::cli {
namespace {

kv::Layout layout_of(const model::ModelConfig& c, const PlanQuestion& q) {
  return {c.layers, c.kv_heads, c.head_dim, q.k.type, q.v.type, q.f16_layers};
}

int64_t seen(int64_t window, int64_t n) { return window > 0 ? std::min(window, n) : n; }

// Keys that a query at position n - 1 sees, summed over the layers, and their bytes.
double keys_seen(const model::ModelConfig& c, int64_t n) {
  double keys = 0;
  for (const int64_t window : c.window) keys += static_cast<double>(seen(window, n));
  return keys;
}
double bytes_seen(const model::ModelConfig& c, const kv::Layout& layout, int64_t n) {
  double bytes = 0;
  for (int i = 0; i < c.layers; ++i) {
    const double token = static_cast<double>(layout.of(i).block_bytes()) / kernels::kKvBlock;
    bytes += token * static_cast<double>(seen(c.window[static_cast<size_t>(i)], n));
  }
  return bytes;
}

// The same summed over positions 0 .. n - 1.
double pairs(const model::ModelConfig& c, int64_t n) {
  const auto triangle = [](double m) { return m * (m + 1) / 2; };
  double sum = 0;
  for (const int64_t window : c.window) {
    const double w = window > 0 ? static_cast<double>(std::min(window, n)) : static_cast<double>(n);
    sum += triangle(w) + (static_cast<double>(n) - w) * w;
  }
  return sum;
}

double compute_seconds(const model::ModelConfig& c, const WeightFacts& w, const MachineLimits& limits, double products,
                       double attended) {
  const double attention = 4.0 * c.heads * c.head_dim * attended;
  return products * (1 - w.float_share) / limits.int8_ops + (products * w.float_share + attention) / limits.f32_ops;
}

}  // namespace

WeightFacts weight_facts(const gguf::File& file, const model::ModelConfig& config) {
  WeightFacts facts;
  const bool own_output = file.find_tensor("output.weight") != nullptr;
  double floats = 0;
  for (const gguf::Tensor& t : file.tensors()) {
    if (t.dims.size() < 2 || (own_output && t.name == "token_embd.weight")) continue;
    const double n = static_cast<double>(t.cols()) * static_cast<double>(t.rows());
    facts.body += n;
    facts.bytes += static_cast<double>(t.bytes);
    if (dtype_info(t.type).block_elems == 1) floats += n;
  }
  facts.float_share = facts.body > 0 ? floats / facts.body : 0;
  facts.output = static_cast<double>(config.vocab) * config.dim;
  facts.body -= facts.output;
  return facts;
}

PlanRow plan_row(const model::ModelConfig& config, const WeightFacts& weights, const MachineLimits& limits,
                 const PlanQuestion& question) {
  const kv::Layout layout = layout_of(config, question);
  PlanRow row;
  row.k = question.k;
  row.v = question.v;
  row.bytes_per_token = layout.bytes_per_token();
  row.blocks = static_cast<int64_t>(question.memory / layout.pool_block_bytes());
  row.held = question.context;
  row.sequences = row.blocks / ((row.held + kernels::kKvBlock - 1) / kernels::kKvBlock);
  const double keys = keys_seen(config, row.held);
  row.read_bytes = bytes_seen(config, layout, row.held);
  const auto step = [&](double batch) {
    const double bytes = weights.bytes + batch * row.read_bytes;
    const double products = 2 * (weights.body + weights.output) * batch;
    return std::max(bytes / limits.read_bytes, compute_seconds(config, weights, limits, products, keys * batch));
  };
  row.decode = 1 / step(1);
  const double batch = static_cast<double>(row.sequences);
  row.batch_decode = row.sequences > 0 ? batch / step(batch) : 0;
  return row;
}

double prefill_limit(const model::ModelConfig& config, const WeightFacts& weights, const MachineLimits& limits,
                     const PlanQuestion& question, int64_t chunk) {
  const double n = static_cast<double>(question.context), c = static_cast<double>(std::min(chunk, question.context));
  const double attended = pairs(config, question.context);
  const kv::Layout layout = layout_of(config, question);
  // A chunk reads the weights and its past once.
  const double kv = static_cast<double>(layout.bytes_per_token()) / std::max(1, config.layers) * attended / c;
  const double seconds =
      std::max((weights.bytes * n / c + kv) / limits.read_bytes,
               compute_seconds(config, weights, limits, 2 * (weights.body * n + weights.output), attended));
  return n / seconds;
}

}  // namespace toccata::cli
