// 2^x and e^x as one fixed sequence of f32 operations, shared by every instruction set.
//
//   exp2:  t = x + kExpMagic (rounds x to an integer, ties to even), n = t - kExpMagic, f = x - n (exact)
//          p = 1 + f (c1 + f (c2 + f (c3 + f (c4 + f c5)))), Horner, each step one fma
//          result: the bits of p plus the bits of t shifted left by 23 (adds n to the exponent)
//          x < kExp2Flush gives +0; exp2(0) = 1 exactly, exp2(-inf) = 0, NaN stays NaN
//   exp:   x limited to +-kExpLimit; t = fma(x, kLog2E, kExpMagic), n = t - kExpMagic,
//          f = fma(x, kLog2ELow, fma(x, kLog2E, -n)); then as above
//
// The domain of exp2 is [-inf, 127): attention needs x <= 0 up to rounding. From kExp2Flush = -125 on the exponent of
// p (at least -1) plus n stays in the normal range. The coefficients are the minimax fit of the relative error on
// [-1/2, 1/2] with the constant term held at 1, rounded one by one: 9.4e-8 before the rounding of the operations.
#pragma once

namespace toccata::kernels {

inline constexpr float kExpMagic = 0x1.8p23f;
inline constexpr float kExp2Flush = -125.0f;
inline constexpr float kExp2C1 = 0x1.62e42ap-1f;
inline constexpr float kExp2C2 = 0x1.ebf9c2p-3f;
inline constexpr float kExp2C3 = 0x1.c6b6dap-5f;
inline constexpr float kExp2C4 = 0x1.3ce8b4p-7f;
inline constexpr float kExp2C5 = 0x1.5bd95cp-10f;

inline constexpr float kExpLimit = 86.0f;  // 86 log2(e) = 124.07: both ends keep a normal exponent
inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kLog2ELow = 0x1.4ae0cp-26f;  // log2(e) - kLog2E

// exp of the row sums in f64, for -700 <= x <= 0:  z = fma(x, kLog2E64, kExpMagic64), n = z - kExpMagic64,
//   r = fma(n, -kLn2Low64, fma(n, -kLn2High64, x)), |r| <= ln(2) / 2
//   p = Taylor to r^12 by Horner, each step one fma; the rest is below 2e-16
//   result: the bits of p plus the bits of z shifted left by 52
inline constexpr double kExpMagic64 = 0x1.8p52;
inline constexpr double kExpLow64 = -700.0;
inline constexpr double kLog2E64 = 0x1.71547652b82fep+0;
inline constexpr double kLn2High64 = 0x1.62e42fefa39efp-1;
inline constexpr double kLn2Low64 = 0x1.abc9e3b39803fp-56;
inline constexpr int kExpTerms64 = 13;
inline constexpr double kExpTaylor64[kExpTerms64] = {1.0 / 479001600.0,
                                                     1.0 / 39916800.0,
                                                     1.0 / 3628800.0,
                                                     1.0 / 362880.0,
                                                     1.0 / 40320.0,
                                                     1.0 / 5040.0,
                                                     1.0 / 720.0,
                                                     1.0 / 120.0,
                                                     1.0 / 24.0,
                                                     1.0 / 6.0,
                                                     0.5,
                                                     1.0,
                                                     1.0};

// silu(x) = x / (1 + exp(-x));  gelu_tanh(x) = x / (1 + exp(-y)), y = x fma(x x, kGeluCubic, kGeluLinear), because
// (1 + tanh u) / 2 = 1 / (1 + exp(-2u)) with u = sqrt(2/pi) (x + 0.044715 x^3).
inline constexpr float kGeluLinear = 1.5957691216057308f;  // 2 sqrt(2/pi)
inline constexpr float kGeluCubic = 0.07135481627260025f;  // 2 sqrt(2/pi) 0.044715

}  // namespace toccata::kernels
