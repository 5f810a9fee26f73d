// The element-wise kernels on 16 lanes; kernels/generic/vec.cc is the reference. A remainder of fewer than 16 elements
// goes through a padded buffer, so that every element meets the same operations.
#pragma once

#include "kernels/vec.h"
#include "kernels/x86/vec_math.h"

namespace toccata::kernels {
namespace {

template <class L>
TOCCATA_INLINE L load_some(const float* p, int64_t n) {
  alignas(64) float buffer[16] = {};
  for (int64_t i = 0; i < n; ++i) buffer[i] = p[i];
  return L::load(buffer);
}

template <class L>
TOCCATA_INLINE void store_some(L x, float* p, int64_t n) {
  alignas(64) float buffer[16];
  x.store(buffer);
  for (int64_t i = 0; i < n; ++i) p[i] = buffer[i];
}

template <class L>
struct VecBody {
  // out[i] = f(x[i], y[i])
  template <class F>
  static TOCCATA_INLINE void map2(const float* x, const float* y, int64_t n, float* out, F f) {
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) f(L::load(x + i), L::load(y + i)).store(out + i);
    if (i < n) store_some(f(load_some<L>(x + i, n - i), load_some<L>(y + i, n - i)), out + i, n - i);
  }

  static void rms_norm(const float* x, const float* w, int64_t n, float eps, float* out) {
    L squares = L::all(0.0f);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
      const L v = L::load(x + i);
      squares = L::fma(v, v, squares);
    }
    if (i < n) {  // the padding adds +0 to a sum that is not negative
      const L v = load_some<L>(x + i, n - i);
      squares = L::fma(v, v, squares);
    }
    const L r = L::all(1.0f / __builtin_sqrtf(squares.sum() / static_cast<float>(n) + eps));
    if (w) {
      map2(x, w, n, out, [r](L v, L weight) { return (v * r) * weight; });
    } else {
      map2(x, x, n, out, [r](L v, L) { return v * r; });
    }
  }

  static void add(const float* x, const float* y, int64_t n, float* out) {
    map2(x, y, n, out, [](L a, L b) { return a + b; });
  }

  static void scale(const float* x, float s, int64_t n, float* out) {
    const L factor = L::all(s);
    map2(x, x, n, out, [factor](L a, L) { return a * factor; });
  }

  // x / (1 + exp(-y)) * up
  static TOCCATA_INLINE L gated(L x, L y, L up) {
    const L minus = L::all(-0.0f) - y;
    return x / (L::all(1.0f) + exp_poly(minus)) * up;
  }

  static void silu_mul(const float* gate, const float* up, int64_t n, float* out) {
    map2(gate, up, n, out, [](L x, L u) { return gated(x, x, u); });
  }

  static void gelu_mul(const float* gate, const float* up, int64_t n, float* out) {
    map2(gate, up, n, out,
         [](L x, L u) { return gated(x, x * L::fma(x * x, L::all(kGeluCubic), L::all(kGeluLinear)), u); });
  }

  static TOCCATA_INLINE void rotate(L& x0, L& x1, L cos, L sin) {
    const L a = L::fms(x0, cos, x1 * sin);
    x1 = L::fma(x0, sin, x1 * cos);
    x0 = a;
  }

  static void rope_halves(float* x, int64_t half, const float* cos, const float* sin) {
    int64_t i = 0;
    for (; i + 16 <= half; i += 16) {
      L a = L::load(x + i), b = L::load(x + half + i);
      rotate(a, b, L::load(cos + i), L::load(sin + i));
      a.store(x + i);
      b.store(x + half + i);
    }
    if (const int64_t n = half - i; n > 0) {
      L a = load_some<L>(x + i, n), b = load_some<L>(x + half + i, n);
      rotate(a, b, load_some<L>(cos + i, n), load_some<L>(sin + i, n));
      store_some(a, x + i, n);
      store_some(b, x + half + i, n);
    }
  }

  static void rope_pairs(float* x, int64_t half, const float* cos, const float* sin) {
    L a, b;
    int64_t i = 0;
    for (; i + 16 <= half; i += 16) {
      L::unzip(x + 2 * i, a, b);
      rotate(a, b, L::load(cos + i), L::load(sin + i));
      L::zip(a, b, x + 2 * i);
    }
    if (const int64_t n = half - i; n > 0) {
      alignas(64) float buffer[32] = {};
      for (int64_t j = 0; j < 2 * n; ++j) buffer[j] = x[2 * i + j];
      L::unzip(buffer, a, b);
      rotate(a, b, load_some<L>(cos + i, n), load_some<L>(sin + i, n));
      L::zip(a, b, buffer);
      for (int64_t j = 0; j < 2 * n; ++j) x[2 * i + j] = buffer[j];
    }
  }

  static void rope(float* x, int64_t heads, int64_t head_dim, int64_t rot_dim, const float* cos, const float* sin,
                   bool interleaved) {
    for (int64_t h = 0; h < heads; ++h, x += head_dim) {
      interleaved ? rope_pairs(x, rot_dim / 2, cos, sin) : rope_halves(x, rot_dim / 2, cos, sin);
    }
  }

  static void run_max(const float* x, int64_t n, float* out) {
    const L nothing = L::all(-__builtin_inff());
    for (; n > 0; x += kMaxRun, n -= kMaxRun) {
      const int64_t run = n < kMaxRun ? n : kMaxRun;
      L m = nothing;
      int64_t i = 0;
      for (; i + 16 <= run; i += 16) m = L::max(L::load(x + i), m);
      if (i < run) m = L::max(L::keep(load_some<L>(x + i, run - i), 0, static_cast<int>(run - i)), m);
      *out++ = m.largest();
    }
  }
};

}  // namespace
}  // namespace toccata::kernels
