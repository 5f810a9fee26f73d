// The reference of the matrix products: kernels/matmul.h word for word, one scalar operation after the other.
#include "kernels/matmul.h"

#include <bit>
#include <cmath>

#include "kernels/act_layout.h"
#include "kernels/pack_read.h"

namespace toccata::kernels::generic {
namespace {

float to_float(int v) { return static_cast<float>(v); }

struct BlockScale {
  float d = 0;    // amax / 127
  float inv = 0;  // 127 / amax
};

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

// !(a < tiny): a NaN takes the second way.
BlockScale block_scale(const float* x, int n) {
  const float a = magnitude(x, n);
  if (a < kActTiny) return {};
  return {a / 127.0f, 127.0f / a};
}

// Clamped before rounding; a NaN becomes -127 (the order of the comparisons is that of vmaxps and vminps).
int8_t quantize(float x, float inv) {
  float v = x * inv;
  v = v > -127.0f ? v : -127.0f;
  v = v < 127.0f ? v : 127.0f;
  return static_cast<int8_t>(std::lrintf(v));
}

// Returns the sum of q[0..n) and stores the negated pair sums.
int sum_codes(const int8_t* q, int n, int16_t* neg_pair_sum) {
  int sums[2] = {0, 0};
  for (int i = 0; i < n; ++i) sums[i / 2 % 2] += q[i];
  neg_pair_sum[0] = static_cast<int16_t>(-sums[0]);
  neg_pair_sum[1] = static_cast<int16_t>(-sums[1]);
  return sums[0] + sums[1];
}

void quantize_block(const float* x, ActBlock32& b) {
  const BlockScale s = block_scale(x, 32);
  for (int i = 0; i < 32; ++i) b.q[i] = quantize(x[i], s.inv);
  b.d = s.d;
  b.d_sum = s.d * to_float(sum_codes(b.q, 32, b.neg_pair_sum));
}

// The smallest step that reaches the run's magnitude; a NaN takes 1 (and reaches the result through d).
int16_t run_step(float amax, float inv_unit) {
  const float r = std::ceil(amax * inv_unit);
  return static_cast<int16_t>(r >= 1.0f ? r <= to_float(kActSteps) ? r : to_float(kActSteps) : 1.0f);
}

void quantize_block(const float* x, ActBlock256& b) {
  const float amax = magnitude(x, 256);
  const bool zero = amax < kActTiny;
  b.d = zero ? 0.0f : amax / (127.0f * kActSteps);
  const float inv_unit = zero ? 0.0f : kActSteps / amax;
  const float inv = zero ? 0.0f : (127.0f * kActSteps) / amax;
  for (int g = 0; g < 8; ++g) {
    const int16_t step = run_step(magnitude(x + 32 * g, 32), inv_unit);
    b.step[g][0] = b.step[g][1] = step;
    const float run_inv = inv / to_float(step);
    for (int i = 32 * g; i < 32 * g + 32; ++i) b.q[i] = quantize(x[i], run_inv);
    for (int h = 2 * g; h < 2 * g + 2; ++h) {
      b.sum16[h] = static_cast<int16_t>(step * sum_codes(b.q + 16 * h, 16, b.neg_pair_sum[h]));
    }
    b.sum32[g] = static_cast<int16_t>(b.sum16[2 * g] + b.sum16[2 * g + 1]);
  }
}

void quantize_act(ActKind kind, const float* x, int64_t cols, std::byte* dst) {
  if (kind == ActKind::kF32) {
    std::memcpy(dst, x, static_cast<size_t>(cols) * sizeof(float));
  } else if (kind == ActKind::kQ8_32) {
    auto* b = reinterpret_cast<ActBlock32*>(dst);
    for (int64_t k = 0; k < cols; k += 32) quantize_block(x + k, *b++);
  } else {
    auto* b = reinterpret_cast<ActBlock256*>(dst);
    for (int64_t k = 0; k < cols; k += 256) quantize_block(x + k, *b++);
  }
}

// One block of one weight row, as integers.
struct WeightBlock {
  int values[256];
  int sub_scale[16];
  int sub_min[16];
  float d, m;
};

void read_block(DType type, const PackLayout& p, const uint8_t* block, int row, WeightBlock& w) {
  for (int run = 0; run < p.elems / 32; ++run) {
    read_run(type, p, block + p.codes + run * p.run_bytes(), row, w.values + 32 * run);
  }
  for (int g = 0; g < p.subs; ++g) {
    w.sub_scale[g] = read_sub_scale(type, p, block, row, g);
    w.sub_min[g] = read_sub_min(type, p, block, row, g);
  }
  w.d = read_scale(type, block, row);
  w.m = read_min(p, block, row);
}

float add_block(const PackLayout& p, const WeightBlock& w, const ActBlock32& a, float acc) {
  int isum = 0;
  for (int k = 0; k < 32; ++k) isum += w.values[k] * a.q[k];
  acc = std::fma(w.d * a.d, to_float(isum), acc);
  return p.min < 0 ? acc : std::fma(w.m, a.d_sum, acc);
}

float add_block(const PackLayout& p, const WeightBlock& w, const ActBlock256& a, float acc) {
  const int sub_elems = 256 / p.subs;
  int isum = 0, msum = 0;
  for (int g = 0; g < p.subs; ++g) {
    int sum = 0, asum = 0;
    for (int k = g * sub_elems; k < (g + 1) * sub_elems; ++k) {
      sum += w.values[k] * a.q[k];
      asum += a.q[k];
    }
    const int step = a.step[g * sub_elems / 32][0];
    isum += w.sub_scale[g] * step * sum;
    msum += w.sub_min[g] * step * asum;
  }
  acc = std::fma(w.d * a.d, to_float(isum), acc);
  return p.min < 0 ? acc : std::fma(-(w.m * a.d), to_float(msum), acc);
}

template <class Act>
void matmul_group(const PackedMatrix& w, const uint8_t* group, const std::byte* act, size_t act_stride, int64_t rows,
                  float* out, size_t out_stride) {
  const PackLayout p = pack_layout(w.type);
  for (int64_t b = 0; b < w.cols / p.elems; ++b, group += p.bytes) {
    for (int r = 0; r < kGroupRows; ++r) {
      WeightBlock block;
      read_block(w.type, p, group, r, block);
      for (int64_t t = 0; t < rows; ++t) {
        const auto* a = reinterpret_cast<const Act*>(act + static_cast<size_t>(t) * act_stride) + b;
        float& acc = out[static_cast<size_t>(t) * out_stride + static_cast<size_t>(r)];
        acc = add_block(p, block, *a, acc);
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
    const auto run = kind == ActKind::kF32     ? matmul_group_float
                     : kind == ActKind::kQ8_32 ? matmul_group<ActBlock32>
                                               : matmul_group<ActBlock256>;
    run(w, group, act, act_stride, rows, o, out_stride);
  }
}

}  // namespace

const MatmulKernels kMatmul = {quantize_act, matmul};

}  // namespace toccata::kernels::generic
