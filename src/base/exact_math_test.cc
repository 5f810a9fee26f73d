#include "base/exact_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/rng.h"

namespace toccata::exact {
namespace {

double random(uint32_t index, double low, double high) {
  return low + (high - low) * rng::uniform(7, index, rng::Purpose::kTest);
}

// The oracle is the x87 long double library, whose errors are below 2^-63.
double relative_error(double value, long double truth) {
  return static_cast<double>(std::fabs((static_cast<long double>(value) - truth) / truth));
}

void expect_sincos(double x) {
  const SinCos got = sincos(x);
  EXPECT_LT(std::fabs(static_cast<double>(got.sin - std::sin(static_cast<long double>(x)))), 2.3e-16) << x;
  EXPECT_LT(std::fabs(static_cast<double>(got.cos - std::cos(static_cast<long double>(x)))), 2.3e-16) << x;
}

TEST(ExactMath, SinCosMatchesLongDouble) {
  for (const double range : {1e-9, 0.5, 3.0, 100.0, 1e5, 1e7, 1e9}) {
    for (uint32_t i = 0; i < 20000; ++i) expect_sincos(random(i, -range, range));
  }
}

// Next to multiples of pi/2 one of the results is tiny, and its relative error shows the reduction's tail.
TEST(ExactMath, SinCosNearMultiplesOfHalfPiIsRelativelyExact) {
  for (int64_t k = 1; k < 600'000'000; k = k * 5 / 3 + 1) {
    const auto x = static_cast<double>(static_cast<long double>(k) * 1.57079632679489661923132169163975144L);
    const SinCos got = sincos(x);
    const double small = k % 2 == 0 ? got.sin : got.cos;
    const long double truth =
        k % 2 == 0 ? std::sin(static_cast<long double>(x)) : std::cos(static_cast<long double>(x));
    EXPECT_LT(relative_error(small, truth), 5e-16) << k;
  }
}

TEST(ExactMath, SinCosOfIntegersAsRopeUsesThem) {
  for (int position = 0; position < 200000; position += 7) expect_sincos(position);
}

TEST(ExactMath, SinCosRefusesWhatItCannotReduce) {
  EXPECT_TRUE(std::isnan(sin(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(sin(std::numeric_limits<double>::infinity())));
  EXPECT_TRUE(std::isnan(cos(0x1.0000001p30)));
  EXPECT_EQ(sin(0.0), 0.0);
  EXPECT_EQ(cos(0.0), 1.0);
}

TEST(ExactMath, ExpMatchesLongDouble) {
  for (const double range : {1e-9, 0.5, 10.0, 700.0}) {
    for (uint32_t i = 0; i < 20000; ++i) {
      const double x = random(i, -range, range);
      EXPECT_LT(relative_error(exp(x), std::exp(static_cast<long double>(x))), 2.3e-16) << x;
    }
  }
}

TEST(ExactMath, ExpAtTheEdges) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(exp(0.0), 1.0);
  EXPECT_EQ(exp(infinity), infinity);
  EXPECT_EQ(exp(-infinity), 0.0);
  EXPECT_EQ(exp(709.79), infinity);
  EXPECT_EQ(exp(-745.14), 0.0);
  EXPECT_LT(relative_error(exp(709.75), std::exp(709.75L)), 2.3e-16);
  EXPECT_NEAR(exp(-744.0), std::exp(-744.0), 5e-324);  // subnormal
  EXPECT_GT(exp(-745.0), 0.0);
  EXPECT_TRUE(std::isnan(exp(std::numeric_limits<double>::quiet_NaN())));
}

TEST(ExactMath, LogMatchesLongDouble) {
  for (const double range : {1.4, 4.0, 1e4, 1e300}) {
    for (uint32_t i = 0; i < 20000; ++i) {
      const double x = random(i, 0.6, range);
      EXPECT_LT(relative_error(log(x), std::log(static_cast<long double>(x))), 3e-16) << x;
    }
  }
  for (uint32_t i = 0; i < 20000; ++i) {
    const double x = random(i, 1e-320, 1e-300);
    EXPECT_LT(relative_error(log(x), std::log(static_cast<long double>(x))), 3e-16) << x;
  }
}

TEST(ExactMath, LogAtTheEdges) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(log(1.0), 0.0);
  EXPECT_EQ(log(0.0), -infinity);
  EXPECT_EQ(log(infinity), infinity);
  EXPECT_TRUE(std::isnan(log(-1.0)));
  EXPECT_TRUE(std::isnan(log(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_LT(relative_error(log(5e-324), std::log(static_cast<long double>(5e-324))), 3e-16);
}

TEST(ExactMath, PowMatchesLongDouble) {
  for (int i = 0; i <= 128; ++i) {
    const double got = pow(1e6, -i / 128.0);
    EXPECT_LT(relative_error(got, std::pow(1e6L, -static_cast<long double>(i) / 128)), 5e-16 * 15) << i;
  }
}

// Known bits: a build whose compiler contracts or reorders the arithmetic fails here.
TEST(ExactMath, BitsAreFixed) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a over the results
  const auto mix = [&hash](double x) { hash = (hash ^ std::bit_cast<uint64_t>(x)) * 1099511628211u; };
  for (uint32_t i = 0; i < 1000; ++i) {
    const SinCos sc = sincos(random(i, -1e6, 1e6));
    mix(sc.sin);
    mix(sc.cos);
    mix(exp(random(i, -50, 50)));
    mix(log(random(i, 0.001, 1000)));
  }
  EXPECT_EQ(hash, 15899701494843272648u);
}

TEST(ExactMath, ExpOfAnArrayHasTheBitsOfEachAlone) {
  for (const double range : {1.0, 60.0, 700.0, 800.0}) {
    std::vector<double> x(1003), y(x.size());
    for (uint32_t i = 0; i < x.size(); ++i) x[i] = random(i, -range, range);
    if (range > 750) x[17] = std::numeric_limits<double>::quiet_NaN();
    exp(x.data(), y.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(std::bit_cast<uint64_t>(y[i]), std::bit_cast<uint64_t>(exp(x[i]))) << x[i];
    }
  }
}

}  // namespace
}  // namespace toccata::exact
