// Attention of one layer beside the limits of the machine: f32 FMA peak for prefill, read bandwidth for decode.
//
//   attention_bench [--threads N] [--pairs N] [--filter TEXT]
//
// Each figure is the median of pairs: the work, then at once the limit, on the same threads; the share is the median
// of the ratios of the pairs, so a drifting machine moves both. Operations are counted for visible keys only: 4
// head_dim per query, head and key. Bytes are those of K and V, once per step. A case with a quantised cache is also
// run with an f16 one, in turns: "speed of f16" is the median of the ratios of their times.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attention/attention.h"
#include "base/clock.h"
#include "base/cpu_features.h"
#include "kernels/peak.h"

namespace toccata {
namespace {

using attention::Method;

struct Case {
  const char* name;
  Method method;
  int heads, kv_heads, head_dim;
  int64_t past;  // keys in the cache before the step
  int tokens;    // per sequence
  int sequences = 1;
  int64_t window = 0;
  DType type = DType::kF16;
};

const Case kCases[] = {
    {"prefill 512, 9/3 heads of 64", Method::kFlash, 9, 3, 64, 0, 512},
    {"prefill 512, 9/3 heads of 64, naive", Method::kNaive, 9, 3, 64, 0, 512},
    {"prefill 512 after 3584, 9/3 heads of 64", Method::kFlash, 9, 3, 64, 3584, 512},
    {"prefill 512 after 3584, 9/3 heads of 64, naive", Method::kNaive, 9, 3, 64, 3584, 512},
    {"prefill 4096, 9/3 heads of 64", Method::kFlash, 9, 3, 64, 0, 4096},
    {"prefill 4096, 9/3 heads of 64, naive", Method::kNaive, 9, 3, 64, 0, 4096},
    {"prefill 4096, 32/8 heads of 128", Method::kFlash, 32, 8, 128, 0, 4096},
    {"prefill 4096, 32/8 heads of 128, naive", Method::kNaive, 32, 8, 128, 0, 4096},
    {"prefill 512 after 3840, 32/8 heads of 128", Method::kFlash, 32, 8, 128, 3840, 512},  // 4096 keys on average
    {"prefill 512 after 3584, 14/2 heads of 64", Method::kFlash, 14, 2, 64, 3584, 512},
    {"prefill 512 after 3584, 32/8 heads of 128", Method::kFlash, 32, 8, 128, 3584, 512},
    {"prefill 512 after 3584, 16/16 heads of 128", Method::kFlash, 16, 16, 128, 3584, 512},
    {"prefill 512 after 3584, 4/1 heads of 256", Method::kFlash, 4, 1, 256, 3584, 512},
    {"prefill 512 after 3584, window 512, 4/1 of 256", Method::kFlash, 4, 1, 256, 3584, 512, 1, 512},
    {"prefill 512 after 3584, bf16, 32/8 heads of 128", Method::kFlash, 32, 8, 128, 3584, 512, 1, 0, DType::kBF16},
    {"prefill 512 after 3584, f32, 32/8 heads of 128", Method::kFlash, 32, 8, 128, 3584, 512, 1, 0, DType::kF32},
    {"chunk 32 after 4064, 32/8 heads of 128", Method::kFlash, 32, 8, 128, 4064, 32},
    {"chunk 16 after 4080, 4/1 heads of 256", Method::kFlash, 4, 1, 256, 4080, 16},
    {"verify 5 after 4091, 32/8 heads of 128", Method::kFlash, 32, 8, 128, 4091, 5},
    {"decode after 16383, 9/3 heads of 64", Method::kFlash, 9, 3, 64, 16383, 1},
    {"decode after 16383, 14/2 heads of 64", Method::kFlash, 14, 2, 64, 16383, 1},
    {"decode after 16383, 32/8 heads of 128", Method::kFlash, 32, 8, 128, 16383, 1},
    {"decode after 16383, 16/16 heads of 128", Method::kFlash, 16, 16, 128, 16383, 1},
    {"decode after 16383, 4/1 heads of 256", Method::kFlash, 4, 1, 256, 16383, 1},
    {"decode after 16383, f32, 32/8 heads of 128", Method::kFlash, 32, 8, 128, 16383, 1, 1, 0, DType::kF32},
    {"prefill 512 after 3584, q8_0, 9/3 heads of 64", Method::kFlash, 9, 3, 64, 3584, 512, 1, 0, DType::kQ8_0},
    {"prefill 512 after 3584, q8_0, 14/2 heads of 64", Method::kFlash, 14, 2, 64, 3584, 512, 1, 0, DType::kQ8_0},
    {"prefill 512 after 3584, q8_0, 32/8 heads of 128", Method::kFlash, 32, 8, 128, 3584, 512, 1, 0, DType::kQ8_0},
    {"prefill 512 after 3584, q8_0, 4/1 heads of 256", Method::kFlash, 4, 1, 256, 3584, 512, 1, 0, DType::kQ8_0},
    {"prefill 512 after 3584, q4_0, 32/8 heads of 128", Method::kFlash, 32, 8, 128, 3584, 512, 1, 0, DType::kQ4_0},
    {"decode after 16383, q8_0, 9/3 heads of 64", Method::kFlash, 9, 3, 64, 16383, 1, 1, 0, DType::kQ8_0},
    {"decode after 16383, q8_0, 14/2 heads of 64", Method::kFlash, 14, 2, 64, 16383, 1, 1, 0, DType::kQ8_0},
    {"decode after 16383, q8_0, 32/8 heads of 128", Method::kFlash, 32, 8, 128, 16383, 1, 1, 0, DType::kQ8_0},
    {"decode after 16383, q8_0, 16/16 heads of 128", Method::kFlash, 16, 16, 128, 16383, 1, 1, 0, DType::kQ8_0},
    {"decode after 16383, q8_0, 4/1 heads of 256", Method::kFlash, 4, 1, 256, 16383, 1, 1, 0, DType::kQ8_0},
    {"decode after 16383, q4_0, 9/3 heads of 64", Method::kFlash, 9, 3, 64, 16383, 1, 1, 0, DType::kQ4_0},
    {"decode after 16383, q4_0, 14/2 heads of 64", Method::kFlash, 14, 2, 64, 16383, 1, 1, 0, DType::kQ4_0},
    {"decode after 16383, q4_0, 4/1 heads of 256", Method::kFlash, 4, 1, 256, 16383, 1, 1, 0, DType::kQ4_0},
    {"decode after 16383, q4_0, 32/8 heads of 128", Method::kFlash, 32, 8, 128, 16383, 1, 1, 0, DType::kQ4_0},
    {"decode after 511, 9/3 heads of 64", Method::kFlash, 9, 3, 64, 511, 1},
    {"decode 8 x after 2047, 32/8 heads of 128", Method::kFlash, 32, 8, 128, 2047, 1, 8},
};

float pseudo(uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
}

// One layer's cache, filled, and the rows of a step.
class Layer {
 public:
  Layer(const Case& c, const kernels::KernelSet& set, int threads)
      : case_(c),
        layout_{copies(c), c.kv_heads, c.head_dim, c.type, c.type},
        pool_(std::move(*kv::Pool::create(layout_, blocks_per_sequence() * c.sequences))),
        attention_(attention::make_attention(c.method, set, layout_, c.heads, threads)) {
    uint32_t state = 1;
    for (int l = 0; l < layout_.layers; ++l) fill(set, l, state);
    const int64_t per_sequence = blocks_per_sequence();
    for (int64_t b = 0; b < pool_.capacity(); ++b) table_.push_back(static_cast<kv::BlockId>(b));
    for (int s = 0; s < c.sequences; ++s) {
      spans_.push_back({table_.data() + s * per_sequence, c.past, c.tokens, s * c.tokens});
    }
    rows_.resize(static_cast<size_t>(c.tokens) * static_cast<size_t>(c.sequences) * width());
    for (float& x : rows_) x = pseudo(state);
    out_.resize(rows_.size());
  }

  void step(ThreadPool& threads) {
    attention::Args args;
    args.pool = &pool_;
    args.layer = layer_++ % layout_.layers;
    args.heads = case_.heads;
    args.scale = 0.1f;
    args.window = case_.window;
    args.spans = spans_;
    args.q = rows_.data();
    args.k = args.q + case_.heads * case_.head_dim;
    args.v = args.k + case_.kv_heads * case_.head_dim;
    args.q_stride = args.k_stride = args.v_stride = width();
    args.out = out_.data();
    args.out_stride = static_cast<size_t>(case_.heads) * static_cast<size_t>(case_.head_dim);
    threads.run([&](Team& team) { attention_->run(team, args); });
  }

  double operations() const {
    double keys = 0.0;
    for (int t = 0; t < case_.tokens; ++t) {
      const int64_t seen = case_.past + t + 1;
      keys += static_cast<double>(case_.window > 0 ? std::min(seen, case_.window) : seen);
    }
    return keys * 4.0 * case_.head_dim * case_.heads * case_.sequences;
  }
  double bytes() const {
    return static_cast<double>(layout_.bytes_per_token()) / layout_.layers *
           static_cast<double>(length() * case_.sequences);
  }
  double scratch() const { return static_cast<double>(attention_->scratch_bytes()); }
  // All K and V, for the limit.
  const std::byte* layer(int index) const { return pool_.head(index % layout_.layers, 0, 0); }
  size_t layer_bytes() const { return static_cast<size_t>(pool_.capacity()) * layout_.block_bytes(); }

 private:
  // Decodes walk through many layers, so that no layer is still in a cache when its turn comes again.
  static int copies(const Case& c) {
    if (c.tokens > 1) return 1;
    const kv::Layout layout{1, c.kv_heads, c.head_dim, c.type, c.type};
    const double one = static_cast<double>(layout.bytes_per_token()) * static_cast<double>(c.past + 1) * c.sequences;
    return static_cast<int>(std::clamp(256e6 / one, 2.0, 64.0));
  }
  int64_t length() const { return case_.past + case_.tokens; }
  int64_t blocks_per_sequence() const { return (length() + kernels::kKvBlock - 1) / kernels::kKvBlock; }
  size_t width() const {
    return static_cast<size_t>(case_.heads + 2 * case_.kv_heads) * static_cast<size_t>(case_.head_dim);
  }

  void fill(const kernels::KernelSet& set, int layer, uint32_t& state) {
    std::vector<float> rows(static_cast<size_t>(kernels::kKvBlock * case_.head_dim));
    for (int64_t b = 0; b < pool_.capacity(); ++b) {
      for (int h = 0; h < case_.kv_heads; ++h) {
        for (float& x : rows) x = pseudo(state);
        std::byte* k = pool_.head(layer, static_cast<kv::BlockId>(b), h);
        const size_t stride = static_cast<size_t>(case_.head_dim);
        set.attn->store_k(case_.type, rows.data(), stride, case_.head_dim, 0, kernels::kKvBlock, k);
        set.attn->store_v(case_.type, rows.data(), stride, case_.head_dim, 0, kernels::kKvBlock, k + layout_.k_bytes());
      }
    }
  }

  Case case_;
  kv::Layout layout_;
  kv::Pool pool_;
  std::unique_ptr<attention::Attention> attention_;
  std::vector<kv::BlockId> table_;
  std::vector<attention::Span> spans_;
  std::vector<float> rows_, out_;
  int layer_ = 0;
};

double seconds(const std::function<void()>& f) {
  const double begin = monotonic_seconds();
  f();
  return monotonic_seconds() - begin;
}

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

volatile uint64_t sink;

// Operations per second of f32 fma on all threads.
double fma_peak(ThreadPool& threads, const kernels::PeakKernels& peak) {
  constexpr int64_t kRounds = 1000000;
  const double t =
      seconds([&] { threads.run([&](Team&) { sink = static_cast<uint64_t>(peak.f32_rounds(kRounds)); }); });
  return static_cast<double>(peak.f32_ops) * kRounds * threads.size() / t;
}

// Bytes per second of reading one layer after the other on all threads.
double read_peak(ThreadPool& threads, const kernels::PeakKernels& peak, const Layer& layer, int count, int first) {
  constexpr int64_t kPart = 256 * 1024;
  const size_t bytes = layer.layer_bytes() / kernels::kPeakReadStep * kernels::kPeakReadStep;
  const double t = seconds([&] {
    threads.run([&](Team& team) {
      for (int i = 0; i < count; ++i) {
        const std::byte* data = layer.layer(first + i);
        team.parallel_for(static_cast<int64_t>(bytes), kPart, [&](int64_t begin, int64_t end) {
          sink = peak.read(data + begin, static_cast<size_t>(end - begin));
        });
      }
    });
  });
  return static_cast<double>(bytes) * count / t;
}

void report(const Case& c, const kernels::KernelSet& set, ThreadPool& threads, int pairs) {
  Layer layer(c, set, threads.size());
  const kernels::PeakKernels& peak = kernels::peak_kernels(set.isa);
  layer.step(threads);
  const double once = seconds([&] { layer.step(threads); });
  const int repeats = static_cast<int>(std::clamp(0.05 / once, 1.0, 1000.0));
  std::vector<double> rate, limit, share, of_f16;
  std::unique_ptr<Layer> f16;
  if (kernels::kv_quantised(c.type)) {
    Case plain = c;
    plain.type = DType::kF16;
    f16 = std::make_unique<Layer>(plain, set, threads.size());
    f16->step(threads);
  }
  const bool decode = c.tokens == 1;
  int next = 0;
  const auto step_seconds = [&](Layer& of) {
    const double t = seconds([&] {
      for (int i = 0; i < repeats; ++i) of.step(threads);
    });
    return t / repeats;
  };
  for (int p = 0; p < pairs; ++p) {
    const double t = step_seconds(layer);
    if (f16) of_f16.push_back(step_seconds(*f16) / t);
    rate.push_back((decode ? layer.bytes() : layer.operations()) / t);
    limit.push_back(decode ? read_peak(threads, peak, layer, repeats, next) : fma_peak(threads, peak));
    share.push_back(rate.back() / limit.back());
    next += repeats;
  }
  char ratio[40] = "";
  if (f16) std::snprintf(ratio, sizeof(ratio), "  %.2f x speed of f16", median(of_f16));
  std::printf("%-50s %8.1f %7.1f %-7s %5.1f %%  %7.3f ms  scratch %7.1f KiB%s\n", c.name, median(rate) * 1e-9,
              median(limit) * 1e-9, decode ? "GB/s" : "GFLOPS", 100.0 * median(share),
              1e3 * (decode ? layer.bytes() : layer.operations()) / median(rate), layer.scratch() / 1024.0, ratio);
  std::fflush(stdout);
}

// 1 to 1024; what is no number counts as 1.
int count(const char* text) { return static_cast<int>(std::clamp(std::strtol(text, nullptr, 10), 1L, 1024L)); }

int run(int argc, char** argv) {
  int threads = cpu_features().logical_cpus, pairs = 7;
  std::string filter;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--threads")) threads = count(argv[i + 1]);
    if (!std::strcmp(argv[i], "--pairs")) pairs = count(argv[i + 1]);
    if (!std::strcmp(argv[i], "--filter")) filter = argv[i + 1];
  }
  const Result<const kernels::KernelSet*> set = kernels::select_kernels();
  if (!set) {
    std::fprintf(stderr, "%s\n", set.error().message.c_str());
    return 1;
  }
  ThreadPool pool(threads);
  std::printf("%s, %s kernels, %d threads, median of %d pairs\n%-50s %8s %7s\n", cpu_features().model_name.c_str(),
              std::string((*set)->isa).c_str(), pool.size(), pairs, "one layer", "reached", "limit");
  for (const Case& c : kCases) {
    if (std::strstr(c.name, filter.c_str())) report(c, **set, pool, pairs);
  }
  return 0;
}

}  // namespace
}  // namespace toccata

int main(int argc, char** argv) { return toccata::run(argc, argv); }
