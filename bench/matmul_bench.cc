// Matrix products of each weight type and row count, beside the limits of the machine:
//
//   matmul_bench [--types Q4_0,Q4_K] [--rows 1,4,512] [--n 8192] [--k 2048] [--threads 2] [--reps 15] [--isa avx2]
//
// Weights are read from more than 192 MiB of copies, so that a decode finds none of them in a cache. "int8" and "read"
// are the shares of the peaks that kernels/peak.h measures in the same run; v = t(rows) / t(1). Best of the
// repetitions.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "kernels/dispatch.h"
#include "kernels/peak.h"

namespace toccata {
namespace {

struct Options {
  std::vector<DType> types;
  std::vector<int64_t> rows = {1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 512};
  int64_t n = 8192, k = 2048;
  int threads = cpu_features().logical_cpus;
  int reps = 15;
  const kernels::KernelSet* set = nullptr;
};

[[noreturn]] void die(const std::string& message) {
  std::fprintf(stderr, "matmul_bench: %s\n", message.c_str());
  std::exit(1);
}

AlignedBuffer allocate(size_t bytes) {
  auto buffer = AlignedBuffer::allocate(bytes);
  if (!buffer) die(buffer.error().message);
  return std::move(*buffer);
}

double now(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The shortest of `reps` runs, in seconds; with one thread that thread's CPU time, which other programs on the machine
// disturb less.
double best(const Options& o, const std::function<void()>& run) {
  const clockid_t clock = o.threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  double seconds = 1e9;
  for (int i = 0; i < o.reps; ++i) {
    const double start = now(clock);
    run();
    seconds = std::min(seconds, now(clock) - start);
  }
  return seconds;
}

struct Peaks {
  double int8_ops, f32_ops, read_bytes;  // per second, all threads
};

Peaks measure_peaks(const Options& o, ThreadPool& pool) {
  const kernels::PeakKernels& p = kernels::peak_kernels(o.set->isa);
  constexpr int64_t kRounds = 20000;
  const size_t bytes = size_t{192} << 20, part = bytes / static_cast<size_t>(o.threads) / 4096 * 4096;
  const AlignedBuffer buffer = allocate(bytes);
  std::memset(buffer.data(), 1, bytes);
  std::vector<double> sink(static_cast<size_t>(o.threads) * 8);
  const auto on_all = [&](auto work) {
    return best(o, [&] {
      pool.run(
          [&](Team& team) { sink[static_cast<size_t>(team.rank()) * 8] += static_cast<double>(work(team.rank())); });
    });
  };
  const double int8_time = on_all([&](int) { return p.int8_rounds(kRounds); });
  const double f32_time = on_all([&](int) { return p.f32_rounds(kRounds); });
  const double read_time =
      on_all([&](int rank) { return p.read(buffer.data() + static_cast<size_t>(rank) * part, part); });
  const double rounds = static_cast<double>(kRounds * o.threads);
  return {rounds * static_cast<double>(p.int8_ops) / int8_time, rounds * static_cast<double>(p.f32_ops) / f32_time,
          static_cast<double>(part) * o.threads / read_time};
}

// Weights and activations of one type.
class Problem {
 public:
  Problem(const Options& o, DType type, int64_t max_rows) : o_(o), type_(type), kind_(kernels::act_kind(type)) {
    group_bytes_ = kernels::packed_group_bytes(type, o.k);
    const size_t matrix_bytes = static_cast<size_t>(o.n / kernels::kGroupRows) * group_bytes_;
    copies_ = (size_t{192} << 20) / matrix_bytes + 1;
    weights_ = allocate(copies_ * matrix_bytes);
    fill_weights();
    stride_ = kernels::act_row_bytes(kind_, o.k);
    act_ = allocate(static_cast<size_t>(max_rows) * stride_);
    out_ = allocate(static_cast<size_t>(max_rows * o.n) * sizeof(float));
    scratch_ = allocate(static_cast<size_t>(o.threads) * kernels::kMatmulScratchBytes);
    std::mt19937 rng(1);
    std::normal_distribution<float> normal;
    std::vector<float> x(static_cast<size_t>(o.k));
    for (int64_t t = 0; t < max_rows; ++t) {
      for (float& v : x) v = normal(rng);
      o.set->matmul->quantize_act(kind_, x.data(), o.k, act_.data() + static_cast<size_t>(t) * stride_);
    }
  }

  size_t matrix_bytes() const { return weights_.size() / copies_; }
  // One product with the next copy of the matrix.
  void run(ThreadPool& pool, int64_t rows) {
    const kernels::PackedMatrix w = {type_, o_.n, o_.k, group_bytes_, weights_.data() + copy_ * matrix_bytes()};
    copy_ = (copy_ + 1) % copies_;
    const int64_t grain = std::max<int64_t>(1, w.groups() / (o_.threads * 12));
    pool.run([&](Team& team) {
      std::byte* scratch = scratch_.data() + static_cast<size_t>(team.rank()) * kernels::kMatmulScratchBytes;
      team.parallel_for(w.groups(), grain, [&](int64_t begin, int64_t end) {
        o_.set->matmul->matmul(w, begin, end, act_.data(), stride_, rows, out_.as<float>(), static_cast<size_t>(o_.n),
                               scratch);
      });
    });
  }

 private:
  // Bytes from 0x20 to 0x2f: as halves and floats they are small, but far from subnormal, whose products are slow.
  // Every group is a copy of the first.
  void fill_weights() {
    std::mt19937 rng(2);
    std::vector<std::byte> rows(16 * row_bytes(type_, o_.k));
    for (std::byte& b : rows) b = static_cast<std::byte>(0x20 | (rng() & 0x0f));
    kernels::pack_group(type_, rows.data(), o_.k, 16, weights_.data());
    for (size_t at = group_bytes_; at < weights_.size(); at += group_bytes_) {
      std::memcpy(weights_.data() + at, weights_.data(), group_bytes_);
    }
  }

  const Options& o_;
  DType type_;
  kernels::ActKind kind_;
  size_t group_bytes_ = 0, stride_ = 0, copies_ = 0, copy_ = 0;
  AlignedBuffer weights_, act_, out_, scratch_;
};

void bench_type(const Options& o, DType type, ThreadPool& pool, const Peaks& peaks) {
  Problem problem(o, type, *std::max_element(o.rows.begin(), o.rows.end()));
  const bool integer = kernels::act_kind(type) != kernels::ActKind::kF32;
  const double bytes = static_cast<double>(problem.matrix_bytes());
  double one = 0;
  for (const int64_t rows : o.rows) {
    const double seconds = best(o, [&] { problem.run(pool, rows); });
    if (rows == 1) one = seconds;
    const double ops = 2.0 * static_cast<double>(o.n * o.k * rows) / seconds;
    std::printf("%-7s %5ld %9.3f ms %8.1f GOPS %5.1f %% of %s %7.2f GB/s %5.1f %% of read",
                dtype_info(type).name.data(), static_cast<long>(rows), seconds * 1e3, ops * 1e-9,
                100 * ops / (integer ? peaks.int8_ops : peaks.f32_ops), integer ? "int8" : "f32",
                bytes / seconds * 1e-9, 100 * bytes / seconds / peaks.read_bytes);
    if (one > 0) std::printf("  v %6.2f", seconds / one);
    std::printf("\n");
    std::fflush(stdout);
  }
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts(1);
  for (const char c : list) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

void read_types(Options& o, const std::string& list) {
  for (const std::string& name : split(list)) {
    const auto type = dtype_from_name(name);
    if (!type) die("unknown type " + name);
    o.types.push_back(*type);
  }
}

// A whole number from 1 to 2^20.
int number(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > 1 << 20) {
    die("not a number from 1 to 2^20: " + text);
  }
  return value;
}

void set_option(Options& o, const std::string& flag, const std::string& value) {
  if (flag == "--types") {
    read_types(o, value);
  } else if (flag == "--rows") {
    o.rows.clear();
    for (const std::string& r : split(value)) o.rows.push_back(number(r));
  } else if (flag == "--n") {
    o.n = (number(value) + 15) / 16 * 16;
  } else if (flag == "--k") {
    o.k = (number(value) + 255) / 256 * 256;
  } else if (flag == "--threads") {
    o.threads = number(value);
  } else if (flag == "--reps") {
    o.reps = number(value);
  } else if (flag == "--isa") {
    for (const auto& set : kernels::available_kernels()) o.set = set.isa == value ? &set : o.set;
  } else {
    die("unknown flag " + flag);
  }
}

void run(int argc, char** argv) {
  Options o;
  o.set = &kernels::available_kernels().back();
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 >= argc) die(std::string("flag without a value: ") + argv[i]);
    set_option(o, argv[i], argv[i + 1]);
  }
  if (o.types.empty()) read_types(o, "Q4_0,Q4_1,Q4_K,Q5_0,Q5_K,Q6_K,Q8_0,F16,BF16");
  ThreadPool pool(o.threads);
  const Peaks peaks = measure_peaks(o, pool);
  std::printf("%s, %d threads, n %ld, k %ld: int8 %.0f GOPS, f32 %.0f GFLOPS, read %.1f GB/s\n", o.set->isa.data(),
              o.threads, static_cast<long>(o.n), static_cast<long>(o.k), peaks.int8_ops * 1e-9, peaks.f32_ops * 1e-9,
              peaks.read_bytes * 1e-9);
  for (const DType type : o.types) bench_type(o, type, pool, peaks);
}

}  // namespace
}  // namespace toccata

int main(int argc, char** argv) { toccata::run(argc, argv); }
