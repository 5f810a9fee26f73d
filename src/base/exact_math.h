// Elementary functions that give the same bits on every CPU.
//
// The C library picks its variants by CPU features at load time, and they differ in the last bit. These use
// only additions, multiplications and divisions of doubles in a fixed order (contraction is off).
#pragma once

#include <cstddef>

namespace toccata::exact {

struct SinCos {
  double sin;
  double cos;
};

// Radians. Error below 1e-15 (absolute) for |x| <= 2^30; NaN and beyond that range give NaN.
SinCos sincos(double x);
inline double sin(double x) { return sincos(x).sin; }
inline double cos(double x) { return sincos(x).cos; }

// Relative error below 5e-16. Over- and underflow to infinity and 0 (through subnormals), NaN stays NaN.
double exp(double x);
// y[i] = exp(x[i]), several at a time, the same bits. x and y may be the same array.
void exp(const double* x, double* y, size_t n);

// Natural logarithm, relative error below 5e-16. log(0) = -infinity, negative values and NaN give NaN.
double log(double x);

// base^exponent for base > 0, as exp(exponent * log(base)): relative error below 5e-16 * (1 + |exponent * log(base)|).
inline double pow(double base, double exponent) { return exp(exponent * log(base)); }

}  // namespace toccata::exact
