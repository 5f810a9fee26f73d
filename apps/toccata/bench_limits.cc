#include "bench_limits.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/aligned_buffer.h"
#include "base/clock.h"
#include "base/thread_pool.h"
#include "kernels/peak.h"

namespace toccata::cli {
namespace {

using kernels::PeakKernels;

// Where results go, so that the work cannot be removed.
std::atomic<uint64_t> g_sink{0};

// The best of `times` runs of body() on all threads, in seconds.
template <class Body>
double best_of_runs(ThreadPool& pool, int times, Body&& body) {
  double best = 1e30;
  for (int i = 0; i < times; ++i) {
    const double start = monotonic_seconds();
    pool.run([&](Team& team) { body(team); });
    best = std::min(best, monotonic_seconds() - start);
  }
  return best;
}

size_t buffer_bytes(int threads) {
  const long last_level = sysconf(_SC_LEVEL3_CACHE_SIZE);
  const size_t cache = last_level > 0 ? static_cast<size_t>(last_level) : size_t{32} << 20;
  const size_t bytes = std::clamp(4 * cache, size_t{128} << 20, size_t{1} << 30);
  const size_t unit = kernels::kPeakReadStep * static_cast<size_t>(threads);
  return bytes / unit * unit;
}

// Rounds that take about `seconds` on one thread.
template <class Run>
int64_t rounds_for(double seconds, Run&& run) {
  for (int64_t rounds = 1000;; rounds *= 4) {
    const double start = monotonic_seconds();
    run(rounds);
    const double took = monotonic_seconds() - start;
    if (took > seconds / 8)
      return std::max<int64_t>(1000, static_cast<int64_t>(static_cast<double>(rounds) * seconds / took));
  }
}

template <class Run>
double ops_per_second(ThreadPool& pool, int64_t ops_per_round, Run&& run) {
  const int64_t rounds = rounds_for(0.04, run);
  const double seconds = best_of_runs(pool, 4, [&](Team&) { run(rounds); });
  return static_cast<double>(rounds) * static_cast<double>(ops_per_round) * pool.size() / seconds;
}

}  // namespace

Result<MachineLimits> measure_limits(int threads, std::string_view isa) {
  ThreadPool pool(threads);
  const PeakKernels& peak = kernels::peak_kernels(isa);
  const size_t bytes = buffer_bytes(pool.size()), share = bytes / static_cast<size_t>(pool.size());
  Result<AlignedBuffer> buffer = AlignedBuffer::allocate(bytes);
  if (!buffer) return tl::unexpected(buffer.error());
  const auto mine = [&](Team& team) { return buffer->data() + share * static_cast<size_t>(team.rank()); };
  // First touch: pages that were never written are all the same zero page, which sits in the cache.
  pool.run([&](Team& team) { std::fill_n(mine(team), share, std::byte{1}); });

  MachineLimits limits;
  const double seconds = best_of_runs(pool, 6, [&](Team& team) { g_sink += peak.read(mine(team), share); });
  limits.read_bytes = static_cast<double>(bytes) / seconds;
  limits.int8_ops = ops_per_second(pool, peak.int8_ops, [&](int64_t n) { g_sink += peak.int8_rounds(n); });
  limits.f32_ops =
      ops_per_second(pool, peak.f32_ops, [&](int64_t n) { g_sink += static_cast<uint64_t>(peak.f32_rounds(n)); });
  return limits;
}

namespace {

// Sum over positions p in [begin, end) of the keys that a query at p sees.
double pairs(double begin, double end, double window) {
  const auto triangle = [](double n) { return n * (n + 1) / 2; };
  if (window <= 0 || end <= window) return triangle(end) - triangle(begin);
  const double bend = std::max(begin, window);
  return (begin < window ? triangle(window) - triangle(begin) : 0) + (end - bend) * window;
}

// Part of the matrix parameters that are stored as plain floats, whose products are f32.
double float_share(const gguf::File& file) {
  const bool own_output = file.find_tensor("output.weight") != nullptr;
  double floats = 0, all = 0;
  for (const gguf::Tensor& t : file.tensors()) {
    if (t.dims.size() < 2 || (own_output && t.name == "token_embd.weight")) continue;
    const double n = static_cast<double>(t.cols()) * static_cast<double>(t.rows());
    all += n;
    if (dtype_info(t.type).block_elems == 1) floats += n;
  }
  return all > 0 ? floats / all : 0;
}

}  // namespace

Work work_of(const LoadedModel& model, int64_t depth, int64_t tokens, int64_t chunk, int64_t generated, int64_t batch) {
  const double n = static_cast<double>(tokens), g = static_cast<double>(generated), b = static_cast<double>(batch);
  const double d = static_cast<double>(depth);
  const double steps = static_cast<double>(chunk > 0 ? (tokens + chunk - 1) / chunk : 0);
  Work w;
  w.rows = b * (n + g);
  w.logit_rows = b * ((tokens > 0 ? 1 : 0) + g);
  w.weight_reads = b * steps + g;
  for (const int64_t layer_window : model.runner->config().window) {
    // A KV policy is a window, as far as counts go.
    const double window = static_cast<double>(layer_window > 0 ? layer_window : model.plan.budget);
    const double decode = pairs(d + n, d + n + g, window);
    w.attended += b * (pairs(d, d + n, window) + decode);
    // A chunk reads its past once; a decode step reads what it sees.
    w.kv_positions += b * (decode + (steps > 0 ? pairs(d, d + n, window) / (n / steps) : 0));
  }
  return w;
}

double limit_seconds(const LoadedModel& model, const MachineLimits& limits, const Work& work) {
  const model::ModelConfig& c = model.runner->config();
  const double output = static_cast<double>(c.vocab) * c.dim;
  const double body = static_cast<double>(model.runner->matmul_parameters()) - output;
  const double products = 2 * (body * work.rows + output * work.logit_rows);
  const double floats = float_share(*model.file);
  const double attention = 4.0 * c.heads * c.head_dim * work.attended;
  const double compute = products * (1 - floats) / limits.int8_ops + (products * floats + attention) / limits.f32_ops;
  const double kv = static_cast<double>(model.runner->kv_layout().bytes_per_token()) / std::max(1, c.layers);
  const double bytes = static_cast<double>(model.runner->weight_bytes()) * work.weight_reads + kv * work.kv_positions;
  return std::max(bytes / limits.read_bytes, compute);
}

}  // namespace toccata::cli
