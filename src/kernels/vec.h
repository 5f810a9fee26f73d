// Element-wise kernels and row reductions. n is a count of floats; pointers need no alignment; any n >= 0.
//
// Reductions use 16 virtual lanes: lane i takes elements i, i + 16, ... in ascending order (one fma or add per
// element), then lanes are combined as a fixed tree: i with i + 8, then i + 4, i + 2, i + 1.
#pragma once

#include <cstdint>

namespace toccata::kernels {

struct VecKernels {
  // out[i] = (x[i] * r) * w[i], r = 1 / sqrt(sum of squares / n + eps); sum of squares in 16 lanes of fma.
  // w may be null (no weight). out may equal x.
  void (*rms_norm)(const float* x, const float* w, int64_t n, float eps, float* out);

  void (*add)(const float* x, const float* y, int64_t n, float* out);  // out[i] = x[i] + y[i]
  void (*scale)(const float* x, float s, int64_t n, float* out);       // out[i] = x[i] * s

  // out[i] = act(gate[i]) * up[i]; act(x) = x / (1 + exp(-y)), y = x (silu) or y = x fma(x x, kGeluCubic,
  // kGeluLinear) (gelu, tanh form), exp as in kernels/exp2.h. out may equal gate or up.
  void (*silu_mul)(const float* gate, const float* up, int64_t n, float* out);
  void (*gelu_mul)(const float* gate, const float* up, int64_t n, float* out);

  // Rotary embedding of `heads` heads of `head_dim` floats, in place. cos and sin have rot_dim / 2 entries.
  // interleaved: pairs (2 i, 2 i + 1) (llama's GGUF order), else (i, i + rot_dim / 2) (NeoX).
  //   x0' = fma(x0, cos, -(x1 * sin)),  x1' = fma(x0, sin, x1 * cos)
  void (*rope)(float* x, int64_t heads, int64_t head_dim, int64_t rot_dim, const float* cos, const float* sin,
               bool interleaved);

  // Normalised Walsh-Hadamard transform of `count` runs of `size` floats (a power of two from 8 to 512), in place: for
  // h = 1, 2, 4, ... pairs (i, i + h) become (x_i + x_{i+h}, x_i - x_{i+h}), then all are multiplied by
  // f32(1 / sqrt(size)). It is orthogonal and its own inverse.
  void (*hadamard)(float* x, int64_t count, int64_t size);

  // out[j] = the largest of x[128 j, 128 j + 128), the last run maybe shorter; NaN never counts, -infinity if nothing
  // is above it. 16 lanes of x > m ? x : m, combined in the same way.
  void (*run_max)(const float* x, int64_t n, float* out);

  // Sum of exp((x[i] - shift) * scale) in f64, exp as in kernels/exp2.h; shift finite and no x above it, scale > 0.
  // Arguments below -700, and NaN, count as -700.
  double (*exp_sum)(const float* x, int64_t n, double shift, double scale);
};

inline constexpr int64_t kMaxRun = 128;  // of run_max

}  // namespace toccata::kernels
