#include "base/exact_math.h"

#include <bit>
#include <cstdint>
#include <limits>

#include "base/cpu_features.h"

namespace toccata::exact {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// 2^e for -1022 <= e <= 1023.
[[gnu::always_inline]] inline double power_of_two(int e) {
  return std::bit_cast<double>(static_cast<int64_t>(e + 1023) << 52);
}

// The nearest integer (ties to even) for |x| < 2^51: 1.5 * 2^52 pushes the fraction out of the significand.
[[gnu::always_inline]] inline double round_to_integer(double x) {
  constexpr double kShift = 0x1.8p52;
  return (x + kShift) - kShift;
}

struct Reduced {
  double high;  // x - k * pi/2 = high + low, |high| <= pi/4 (and a rounding)
  double low;
  unsigned quadrant;  // k mod 4
};

// Cody-Waite with four parts of pi/2. |x| <= 2^30 makes |k| < 2^30; the first three parts have at most 23
// significant bits, so their products with k are exact:
//   part 1 is a multiple of 2^-22, part 2 of 2^-45, part 3 of 2^-68.
// If k = 0 nothing happens, so let |x| > 0.78. x - k * part1 is exact because both sides agree to within a
// factor of two. The difference is below 52, and taking k * part2 away leaves less than 1 in magnitude and a
// multiple of 2^-53 (the least bit of x, and finer than that of part 2): exact again. The last two
// subtractions are rounded, but their errors are kept in `low`. What pi/2 has beyond part 4 is
// below 2^-122, which k turns into 2^-92.
Reduced reduce(double x) {
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kPart1 = 0x1.921fb4p+0;
  constexpr double kPart2 = 0x1.4442d0p-24;
  constexpr double kPart3 = 0x1.846980p-48;
  constexpr double kPart4 = 0x1.3198a2e037073p-69;
  const double k = round_to_integer(x * kTwoOverPi);
  const double a = (x - k * kPart1) - k * kPart2;
  const double p3 = k * kPart3;
  const double b = a - p3;  // two-sum: b + b_error = a - p3 exactly
  const double a_part = b + p3;
  const double b_error = (a - a_part) - (p3 - (a_part - b));
  const double tail = b_error - k * kPart4;
  const double high = b + tail;
  return {high, (b - high) + tail, static_cast<unsigned>(static_cast<int64_t>(k)) & 3u};
}

// sin(r + low), |r| <= pi/4: Taylor to r^17; the rest is below (pi/4)^19 / 19! < 1e-19. The leading term stands
// alone, so the rounding errors of the polynomial are scaled by r^3/6. low * cos(r) needs only cos to first order.
double sin_kernel(double r, double low) {
  const double z = r * r;
  double p = 1.0 / 355687428096000.0;
  p = p * z - 1.0 / 1307674368000.0;
  p = p * z + 1.0 / 6227020800.0;
  p = p * z - 1.0 / 39916800.0;
  p = p * z + 1.0 / 362880.0;
  p = p * z - 1.0 / 5040.0;
  p = p * z + 1.0 / 120.0;
  p = p * z - 1.0 / 6.0;
  return r + (r * z * p + low * (1.0 - 0.5 * z));
}

// cos(r + low): Taylor to r^16; the rest is below (pi/4)^18 / 18! < 3e-18. 1 - z/2 loses bits when
// rounded; (1 - w) - z/2 is exactly what was lost.
double cos_kernel(double r, double low) {
  const double z = r * r;
  double p = 1.0 / 20922789888000.0;
  p = p * z - 1.0 / 87178291200.0;
  p = p * z + 1.0 / 479001600.0;
  p = p * z - 1.0 / 3628800.0;
  p = p * z + 1.0 / 40320.0;
  p = p * z - 1.0 / 720.0;
  p = p * z + 1.0 / 24.0;
  const double half = 0.5 * z;
  const double w = 1.0 - half;
  return w + (((1.0 - w) - half) + (z * z * p - r * low));
}

}  // namespace

SinCos sincos(double x) {
  if (!(x >= -0x1p30 && x <= 0x1p30)) return {kNaN, kNaN};
  const Reduced r = reduce(x);
  const double s = sin_kernel(r.high, r.low);
  const double c = cos_kernel(r.high, r.low);
  switch (r.quadrant) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}

namespace {

// x = k ln 2 + r, |r| <= ln(2)/2 < 0.3466; exp(x) = 2^k exp(r), exp(r) by Taylor to r^13: the rest is below
// 0.3466^14 / 14! < 5e-18. ln 2 is split so that k * kLn2High is exact (|k| < 2^11, 42 bits).
// Without branches, so that loops over it become vector code: for -745.2 <= x <= 709.8.
[[gnu::always_inline]] inline double exp_in_range(double x) {
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  constexpr double kLn2High = 0x1.62e42fefa38p-1;
  constexpr double kLn2Low = 0x1.ef35793c7673p-45;
  const double k = round_to_integer(x * kLog2E);
  const double high = x - k * kLn2High;
  const double low = k * kLn2Low;
  const double r = high - low;
  const double r_error = (high - r) - low;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  const double y = 1.0 + (r + (r * r * p + r_error));
  // 2^k in two exact steps, so that overflow and subnormal results come out by themselves, rounded once.
  const int ik = static_cast<int>(k);
  const int half = ik / 2;
  return y * power_of_two(half) * power_of_two(ik - half);
}

[[gnu::always_inline]] inline void exp_loop(const double* x, double* y, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] = exp_in_range(x[i]);
}

void exp_baseline(const double* x, double* y, size_t n) { exp_loop(x, y, n); }

// The same operations in wider registers: no FMA, and contraction is off, so the same bits.
#if defined(__x86_64__)
[[gnu::target("avx2")]] void exp_avx2(const double* x, double* y, size_t n) { exp_loop(x, y, n); }
#endif

}  // namespace

double exp(double x) {
  if (x != x) return x;
  if (x > 709.8) return kInfinity;
  if (x < -745.2) return 0.0;
  return exp_in_range(x);
}

void exp(const double* x, double* y, size_t n) {
  bool in_range = true;
  for (size_t i = 0; i < n; ++i) in_range &= x[i] >= -745.2 && x[i] <= 709.8;
  if (!in_range) {
    for (size_t i = 0; i < n; ++i) y[i] = exp(x[i]);
    return;
  }
#if defined(__x86_64__)
  if (cpu_features().avx2) return exp_avx2(x, y, n);
#endif
  exp_baseline(x, y, n);
}

// x = 2^k m with m in [sqrt(1/2), sqrt(2)), f = m - 1 (exact), s = f / (2 + f), |s| < 0.1716:
//   log(1 + f) = 2 atanh(s) = 2s + s R,  R = 2 s^2/3 + 2 s^4/5 + ...
// and 2s = f - s f, so log(1 + f) = f - s (f - R): the exact f leads, and the rounding errors of s and
// R count only in the smaller second term. The series stops at s^22 (the rest is below 2e-18 relative).
double log(double x) {
  if (!(x >= 0)) return kNaN;
  if (x == 0) return -kInfinity;
  if (x == kInfinity) return x;
  int k = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    k = -54;
  }
  const auto bits = std::bit_cast<uint64_t>(x);
  k += static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000);
  if (m >= 0x1.6a09e667f3bcdp+0) {
    m *= 0.5;
    ++k;
  }
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  double p = 2.0 / 23.0;
  for (int n = 21; n >= 3; n -= 2) p = p * z + 2.0 / n;
  const double correction = s * (f - z * p);
  constexpr double kLn2High = 0x1.62e42fefa38p-1;
  constexpr double kLn2Low = 0x1.ef35793c7673p-45;
  return k * kLn2High + (f - (correction - k * kLn2Low));
}

}  // namespace toccata::exact
