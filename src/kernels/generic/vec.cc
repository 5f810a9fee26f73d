// Reference of the element-wise kernels: the order of operations that every instruction set repeats.
#include "kernels/vec.h"

#include <limits>

#include "kernels/generic/vec_math.h"

namespace toccata::kernels::generic {
namespace {

void rms_norm(const float* x, const float* w, int64_t n, float eps, float* out) {
  float lane[16] = {};
  for (int64_t i = 0; i < n; ++i) lane[i % 16] = std::fma(x[i], x[i], lane[i % 16]);
  const float r = 1.0f / std::sqrt(tree16(lane) / static_cast<float>(n) + eps);
  for (int64_t i = 0; i < n; ++i) out[i] = w ? (x[i] * r) * w[i] : x[i] * r;
}

void add(const float* x, const float* y, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] + y[i];
}

void scale(const float* x, float s, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * s;
}

void silu_mul(const float* gate, const float* up, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = gate[i] / (1.0f + exp_poly(-gate[i])) * up[i];
}

void gelu_mul(const float* gate, const float* up, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) {
    const float x = gate[i];
    const float y = x * std::fma(x * x, kGeluCubic, kGeluLinear);
    out[i] = x / (1.0f + exp_poly(-y)) * up[i];
  }
}

void rope(float* x, int64_t heads, int64_t head_dim, int64_t rot_dim, const float* cos, const float* sin,
          bool interleaved) {
  const int64_t half = rot_dim / 2;
  for (int64_t h = 0; h < heads; ++h, x += head_dim) {
    for (int64_t i = 0; i < half; ++i) {
      float& a = x[interleaved ? 2 * i : i];
      float& b = x[interleaved ? 2 * i + 1 : i + half];
      const float x0 = a, x1 = b;
      a = std::fma(x0, cos[i], -(x1 * sin[i]));
      b = std::fma(x0, sin[i], x1 * cos[i]);
    }
  }
}

void run_max(const float* x, int64_t n, float* out) {
  for (int64_t begin = 0; begin < n; begin += kMaxRun) {
    float lane[16];
    for (float& m : lane) m = -std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < kMaxRun && begin + i < n; ++i) {
      float& m = lane[i % 16];
      m = x[begin + i] > m ? x[begin + i] : m;
    }
    for (int step = 8; step > 0; step /= 2) {
      for (int i = 0; i < step; ++i) lane[i] = lane[i] > lane[i + step] ? lane[i] : lane[i + step];
    }
    *out++ = lane[0];
  }
}

double exp_sum(const float* x, int64_t n, double shift, double scale) {
  double lane[16] = {};
  for (int64_t i = 0; i < n; ++i) lane[i % 16] += exp64((static_cast<double>(x[i]) - shift) * scale);
  return tree16(lane);
}

void hadamard(float* x, int64_t count, int64_t size) {
  const float factor = static_cast<float>(1.0 / std::sqrt(static_cast<double>(size)));
  for (int64_t c = 0; c < count; ++c, x += size) {
    for (int64_t h = 1; h < size; h *= 2) {
      for (int64_t i = 0; i < size; ++i) {
        if (i & h) continue;
        const float a = x[i], b = x[i + h];
        x[i] = a + b;
        x[i + h] = a - b;
      }
    }
    for (int64_t i = 0; i < size; ++i) x[i] *= factor;
  }
}

}  // namespace

extern const VecKernels kVec;
const VecKernels kVec = {rms_norm, add, scale, silu_mul, gelu_mul, rope, hadamard, run_max, exp_sum};

}  // namespace toccata::kernels::generic
