// The reference of the matrix products: kernels/matmul.h word for word, one scalar operation after the other.
#include "kernels/matmul.h"

#include <bit>
#include <cmath>

#include "kernels/act_layout.h"
#include "kernels/pack_read.h"

namespace toccata::kernels::generic {
namespace {

float to_float(int v) { return static_cast<float>(v); }

// The magnitudes are compared as integers: equal to comparing floats, but a NaN counts as larger than infinity and
// so reaches d and every product, whatever the order of the comparisons.
float magnitude(const float* x, int n) {
  uint32_t amax = 0;
  for (int i = 0; i < n; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu;
    amax = bits > amax ? bits : amax;
  }
  return std::bit_cast<float>(amax);
}

struct RunScale {
  float d = 0;    // amax / most
  float inv = 0;  // most / amax
};

// !(a < tiny): a NaN takes the second way.
RunScale run_scale(const float* x, float most) {
  const float a = magnitude(x, 32);
  if (a < kActTiny) return {};
  return {a / most, most / a};
}

// Clamped before rounding; a NaN becomes -most (the order of the comparisons is that of vmaxps and vminps).
int quantize(float x, float inv, float most) {
  float v = x * inv;
  v = v > -most ? v : -most;
  v = v < most ? v : most;
  return static_cast<int>(std::lrintf(v));
}

void quantize_run(const float* x, ActBlock8& b) {
  const RunScale s = run_scale(x, kActMax8);
  int sums[2] = {0, 0};
  for (int k = 0; k < 32; ++k) {
    b.q[k] = static_cast<int8_t>(quantize(x[k], s.inv, kActMax8));
    sums[k / 2 % 2] += b.q[k];
  }
  b.neg_pair_sum[0] = static_cast<int16_t>(-sums[0]);
  b.neg_pair_sum[1] = static_cast<int16_t>(-sums[1]);
  b.d = s.d;
  b.d_sum = s.d * to_float(sums[0] + sums[1]);
}

void quantize_run(const float* x, ActBlock16& b) {
  const RunScale s = run_scale(x, kActMax16);
  int sums[2] = {0, 0};
  for (int k = 0; k < 32; ++k) {
    const int q = quantize(x[k], s.inv, kActMax16);
    b.q[act16_index(k)] = static_cast<int16_t>(q);
    sums[k / 16] += q;
  }
  b.d = s.d;
  for (int h = 0; h < 2; ++h) b.neg_sum[h] = -sums[h];
}

template <class Act>
void quantize_runs(const float* x, int64_t cols, std::byte* dst) {
  auto* b = reinterpret_cast<Act*>(dst);
  for (int64_t k = 0; k < cols; k += 32) quantize_run(x + k, *b++);
}

void quantize_act(ActKind kind, const float* x, int64_t cols, std::byte* dst) {
  switch (kind) {
    case ActKind::kF32:
      std::memcpy(dst, x, static_cast<size_t>(cols) * sizeof(float));
      return;
    case ActKind::kQ8:
      return quantize_runs<ActBlock8>(x, cols, dst);
    case ActKind::kQ16:
      return quantize_runs<ActBlock16>(x, cols, dst);
  }
}

// One run of 32 elements of one weight row. The scale covers it all; a minimum covers 16 elements.
struct WeightRun {
  int values[32];
  float ds;
  float dm[2];
};

WeightRun read_weight_run(DType type, const PackLayout& p, const uint8_t* block, int run, int row) {
  WeightRun w;
  read_run(type, p, block + p.codes + run * p.run_bytes(), row, w.values);
  w.ds = read_scale(type, block, row);
  w.dm[0] = w.dm[1] = read_min(p, block, row);
  const bool scale_outside = type == DType::kQ4_K || type == DType::kQ5_K;
  for (int h = 0; p.subs > 0 && h < 2; ++h) {
    const int sub = p.subs == 16 ? 2 * run + h : run;
    const int scale = read_sub_scale(type, p, block, row, sub);
    if (scale_outside) {
      if (h == 0) w.ds *= to_float(scale);
    } else {
      for (int k = 16 * h; k < 16 * h + 16; ++k) w.values[k] *= scale;
    }
    w.dm[h] = -(w.dm[h] * to_float(read_sub_min(type, p, block, row, sub)));
  }
  return w;
}

float add_run(DType, const PackLayout& p, const WeightRun& w, const ActBlock8& a, float acc) {
  int isum = 0;
  for (int k = 0; k < 32; ++k) isum += w.values[k] * a.q[k];
  acc = std::fma(w.ds * a.d, to_float(isum), acc);
  return p.min < 0 ? acc : std::fma(w.dm[0], a.d_sum, acc);
}

float add_run(DType type, const PackLayout&, const WeightRun& w, const ActBlock16& a, float acc) {
  int isum = 0;
  for (int k = 0; k < 32; ++k) isum += w.values[k] * a.q[act16_index(k)];
  acc = std::fma(w.ds * a.d, to_float(isum), acc);
  if (type != DType::kQ2_K) return acc;
  for (int h = 0; h < 2; ++h) acc = std::fma(w.dm[h], a.d * to_float(-a.neg_sum[h]), acc);
  return acc;
}

template <class Act>
void matmul_group(const PackedMatrix& w, const uint8_t* group, const std::byte* act, size_t act_stride, int64_t rows,
                  float* out, size_t out_stride) {
  const PackLayout p = pack_layout(w.type);
  const int runs = p.elems / 32;
  for (int64_t b = 0; b < w.cols / 32; ++b) {
    for (int r = 0; r < kGroupRows; ++r) {
      const WeightRun run =
          read_weight_run(w.type, p, group + static_cast<size_t>(b / runs * p.bytes), static_cast<int>(b % runs), r);
      for (int64_t t = 0; t < rows; ++t) {
        const auto* a = reinterpret_cast<const Act*>(act + static_cast<size_t>(t) * act_stride) + b;
        float& acc = out[static_cast<size_t>(t) * out_stride + static_cast<size_t>(r)];
        acc = add_run(w.type, p, run, *a, acc);
      }
    }
  }
}

void matmul_group_float(const PackedMatrix& w, const uint8_t* group, const std::byte* act, size_t act_stride,
                        int64_t rows, float* out, size_t out_stride) {
  for (int64_t t = 0; t < rows; ++t) {
    const auto* a = reinterpret_cast<const float*>(act + static_cast<size_t>(t) * act_stride);
    float* o = out + static_cast<size_t>(t) * out_stride;
    for (int64_t k = 0; k < w.cols; ++k) {
      for (int r = 0; r < kGroupRows; ++r) o[r] = std::fma(read_float(w.type, group, k * kGroupRows + r), a[k], o[r]);
    }
  }
}

void matmul(const PackedMatrix& w, int64_t group_begin, int64_t group_end, const std::byte* act, size_t act_stride,
            int64_t rows, float* out, size_t out_stride, std::byte*) {
  const ActKind kind = act_kind(w.type);
  for (int64_t g = group_begin; g < group_end; ++g) {
    const auto* group = reinterpret_cast<const uint8_t*>(w.data) + static_cast<size_t>(g) * w.group_bytes;
    float* o = out + g * kGroupRows;
    for (int64_t t = 0; t < rows; ++t) std::memset(o + static_cast<size_t>(t) * out_stride, 0, 4 * kGroupRows);
    const auto run = kind == ActKind::kF32  ? matmul_group_float
                     : kind == ActKind::kQ8 ? matmul_group<ActBlock8>
                                            : matmul_group<ActBlock16>;
    run(w, group, act, act_stride, rows, o, out_stride);
  }
}

}  // namespace

const MatmulKernels kMatmul = {quantize_act, matmul};

}  // namespace toccata::kernels::generic
