// Scalar exp2 and exp of kernels/exp2.h, and the combination tree of 16 lanes.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/exp2.h"

namespace toccata::kernels::generic {

inline float exp2_parts(float t, float f) {
  float p = std::fma(f, kExp2C5, kExp2C4);
  p = std::fma(f, p, kExp2C3);
  p = std::fma(f, p, kExp2C2);
  p = std::fma(f, p, kExp2C1);
  p = std::fma(f, p, 1.0f);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(p) + (std::bit_cast<uint32_t>(t) << 23));
}

inline float exp2_poly(float x) {
  if (x < kExp2Flush) return 0.0f;
  const float t = x + kExpMagic;
  return exp2_parts(t, x - (t - kExpMagic));
}

inline float exp_poly(float x) {
  x = -kExpLimit > x ? -kExpLimit : x;  // written so that NaN passes through
  x = kExpLimit < x ? kExpLimit : x;
  const float t = std::fma(x, kLog2E, kExpMagic);
  const float n = t - kExpMagic;
  return exp2_parts(t, std::fma(x, kLog2ELow, std::fma(x, kLog2E, -n)));
}

// exp(t) for t <= 0; below kExpLow64, and NaN, as kExpLow64.
inline double exp64(double t) {
  t = t > kExpLow64 ? t : kExpLow64;
  const double z = std::fma(t, kLog2E64, kExpMagic64);
  const double n = z - kExpMagic64;
  const double r = std::fma(n, -kLn2Low64, std::fma(n, -kLn2High64, t));
  double p = kExpTaylor64[0];
  for (int i = 1; i < kExpTerms64; ++i) p = std::fma(p, r, kExpTaylor64[i]);
  return std::bit_cast<double>(std::bit_cast<uint64_t>(p) + (std::bit_cast<uint64_t>(z) << 52));
}

template <class T>
inline T tree16(const T* lane) {
  T a[8];
  for (int i = 0; i < 8; ++i) a[i] = lane[i] + lane[i + 8];
  for (int i = 0; i < 4; ++i) a[i] = a[i] + a[i + 4];
  for (int i = 0; i < 2; ++i) a[i] = a[i] + a[i + 2];
  return a[0] + a[1];
}

}  // namespace toccata::kernels::generic
