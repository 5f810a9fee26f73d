#include "kernels/vec.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/generic/vec_math.h"
#include "kernels/vec_testing.h"

namespace toccata::kernels {
namespace {

const VecKernels& reference() { return *available_kernels().front().vec; }

std::vector<float> random_floats(size_t n, uint32_t seed, float spread = 3.0f) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0.0f, spread);
  std::vector<float> x(n);
  for (float& v : x) v = normal(rng);
  return x;
}

// Bits must agree, but for the payload and sign of a NaN.
void expect_same_bits(const std::vector<float>& got, const std::vector<float>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(want[i])) continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want[i]))
        << what << " at " << i << ": " << got[i] << " instead of " << want[i];
  }
}

// Runs f on the reference and on every other set and compares what it returns.
template <class F>
void compare_sets(const std::string& what, F f) {
  const std::vector<float> want = f(reference());
  for (const testing::TestedSet& set : testing::tested_sets()) {
    expect_same_bits(f(*set.vec), want, what + " " + set.name);
  }
}

const std::vector<float> kSpecial = {0.0f,
                                     -0.0f,
                                     1.0f,
                                     -1.0f,
                                     87.0f,
                                     -87.0f,
                                     1e4f,
                                     -1e4f,
                                     3e38f,
                                     -3e38f,
                                     1e-40f,
                                     -1e-40f,
                                     std::numeric_limits<float>::infinity(),
                                     -std::numeric_limits<float>::infinity(),
                                     std::numeric_limits<float>::quiet_NaN(),
                                     86.0f,
                                     -86.0f};

TEST(Vec, EverySetEqualsTheReference) {
  for (int n : {0, 1, 7, 8, 15, 16, 17, 31, 32, 100, 576, 1536, 4095}) {
    const std::vector<float> w = random_floats(static_cast<size_t>(n), 2), y = random_floats(static_cast<size_t>(n), 3);
    std::vector<float> x = random_floats(static_cast<size_t>(n), 1, 20.0f);
    const std::string size = " n=" + std::to_string(n);
    for (const float* weight : {w.data(), static_cast<const float*>(nullptr)}) {
      compare_sets("rms_norm" + size, [&](const VecKernels& k) {
        std::vector<float> out(x.size(), -1.0f);
        k.rms_norm(x.data(), weight, n, 1e-5f, out.data());
        return out;
      });
    }
    for (size_t i = 0; i < std::min(x.size(), kSpecial.size()); ++i) x[x.size() - 1 - i] = kSpecial[i];
    compare_sets("scale" + size, [&](const VecKernels& k) {
      std::vector<float> out(x.size());
      k.scale(x.data(), 1.7f, n, out.data());
      return out;
    });
    for (auto op : {&VecKernels::add, &VecKernels::silu_mul, &VecKernels::gelu_mul}) {
      compare_sets("binary operation" + size, [&](const VecKernels& k) {
        std::vector<float> out = x;  // in place
        (k.*op)(out.data(), y.data(), n, out.data());
        return out;
      });
    }
  }
}

TEST(Vec, RopeEqualsTheReference) {
  for (bool interleaved : {false, true}) {
    for (int rot : {8, 16, 24, 32, 64, 80, 128}) {
      const int dim = rot + 8 * (rot % 3), heads = 3;
      const std::vector<float> angle = random_floats(static_cast<size_t>(rot / 2), 5);
      std::vector<float> c, s;
      for (float a : angle) {
        c.push_back(std::cos(a));
        s.push_back(std::sin(a));
      }
      const std::vector<float> x = random_floats(static_cast<size_t>(dim * heads), 6);
      compare_sets("rope " + std::to_string(rot), [&](const VecKernels& k) {
        std::vector<float> out = x;
        k.rope(out.data(), heads, dim, rot, c.data(), s.data(), interleaved);
        return out;
      });
    }
  }
}

TEST(Vec, RunMaxEqualsTheReferenceAndSkipsNan) {
  for (int n : {1, 15, 16, 17, 127, 128, 129, 1000, 4096}) {
    std::vector<float> x = random_floats(static_cast<size_t>(n), 7);
    for (int pass = 0; pass < 3; ++pass) {
      if (pass == 1) {
        for (size_t i = 0; i < x.size(); i += 3) x[i] = kSpecial[i / 3 % kSpecial.size()];
      } else if (pass == 2) {
        for (size_t i = 0; i < x.size(); ++i) x[i] = i % 2 ? std::numeric_limits<float>::quiet_NaN() : -INFINITY;
      }
      const auto runs = static_cast<size_t>((n + kMaxRun - 1) / kMaxRun);
      std::vector<float> want(runs, -INFINITY);
      for (size_t i = 0; i < x.size(); ++i) {
        float& m = want[i / kMaxRun];
        if (x[i] > m) m = x[i];
      }
      std::vector<float> got(runs);
      reference().run_max(x.data(), n, got.data());
      EXPECT_EQ(got, want);
      compare_sets("run_max n=" + std::to_string(n), [&](const VecKernels& k) {
        std::vector<float> out(runs);
        k.run_max(x.data(), n, out.data());
        return out;
      });
    }
  }
}

TEST(Vec, ExpSumEqualsTheReferenceAndItsFormula) {
  for (int n : {0, 1, 15, 16, 17, 100, 5000}) {
    std::vector<float> x = random_floats(static_cast<size_t>(n), 7, 20.0f);
    for (float& v : x) v = std::min(v, 30.0f);
    for (const double scale : {1.0, 0.37, 1e40}) {
      double want = 0;
      for (float v : x) want += std::exp(std::max(-700.0, (static_cast<double>(v) - 30.0) * scale));
      for (const testing::TestedSet& set : testing::tested_sets()) {
        const double got = set.vec->exp_sum(x.data(), n, 30.0, scale);
        EXPECT_NEAR(got, want, 4e-15 * want) << set.name;
        EXPECT_EQ(got, reference().exp_sum(x.data(), n, 30.0, scale)) << set.name << " n=" << n;
      }
    }
  }
  const std::vector<float> odd = {-INFINITY, 1.0f, std::numeric_limits<float>::quiet_NaN(), -3e38f};
  for (const testing::TestedSet& set : testing::tested_sets()) {
    EXPECT_EQ(set.vec->exp_sum(odd.data(), 4, 1.0, 1.0), 1.0) << set.name;
  }
}

TEST(Vec, RopeTurnsTheNamedPairs) {
  const std::vector<float> c = {0.0f, 1.0f}, s = {1.0f, 0.0f};  // a quarter turn of pair 0, none of pair 1
  for (const testing::TestedSet& set : testing::tested_sets()) {
    std::vector<float> x = {1, 2, 3, 4, 9};
    set.vec->rope(x.data(), 1, 5, 4, c.data(), s.data(), true);
    EXPECT_EQ(x, (std::vector<float>{-2, 1, 3, 4, 9}));
    x = {1, 2, 3, 4, 9};
    set.vec->rope(x.data(), 1, 5, 4, c.data(), s.data(), false);
    EXPECT_EQ(x, (std::vector<float>{-3, 2, 1, 4, 9}));
  }
}

TEST(Vec, ActivationsFollowTheirFormulas) {
  std::vector<float> x, ones;
  for (double v = -30.0; v <= 30.0; v += 0.0137) x.push_back(static_cast<float>(v));
  ones.assign(x.size(), 1.0f);
  std::vector<float> silu(x.size()), gelu(x.size());
  reference().silu_mul(x.data(), ones.data(), static_cast<int64_t>(x.size()), silu.data());
  reference().gelu_mul(x.data(), ones.data(), static_cast<int64_t>(x.size()), gelu.data());
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    const double want_silu = v / (1.0 + std::exp(-v));
    EXPECT_NEAR(silu[i], want_silu, 5e-7 * std::fabs(want_silu)) << v;
    const double u = std::sqrt(2.0 / M_PI) * (v + 0.044715 * v * v * v);
    const double want_gelu = v / (1.0 + std::exp(-2.0 * u));
    EXPECT_NEAR(gelu[i], want_gelu, 1e-6 * std::fabs(want_gelu) * (1.0 + std::fabs(u)) + 1e-30) << v;
  }
}

TEST(Vec, RmsNormFollowsItsFormula) {
  const std::vector<float> x = random_floats(577, 8), w = random_floats(577, 9);
  double squares = 0.0;
  for (float v : x) squares += static_cast<double>(v) * v;
  const double r = 1.0 / std::sqrt(squares / 577 + 1e-6);
  std::vector<float> out(577);
  reference().rms_norm(x.data(), w.data(), 577, 1e-6f, out.data());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(out[i], x[i] * r * w[i], 1e-6 * std::fabs(x[i] * r * w[i]));
}

TEST(Exp2, KeepsItsPromises) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(generic::exp2_poly(0.0f), 1.0f);
  EXPECT_EQ(generic::exp2_poly(-0.0f), 1.0f);
  EXPECT_EQ(generic::exp2_poly(-inf), 0.0f);
  EXPECT_EQ(generic::exp2_poly(-126.0f), 0.0f);
  EXPECT_EQ(generic::exp2_poly(-3e38f), 0.0f);
  EXPECT_TRUE(std::isnan(generic::exp2_poly(std::numeric_limits<float>::quiet_NaN())));
  for (int n = -125; n < 127; ++n) {
    EXPECT_EQ(generic::exp2_poly(static_cast<float>(n)), std::ldexp(1.0f, n));
  }
  double worst = 0.0;
  for (double x = -125.0; x < 20.0; x += 0.00071) {
    const float v = static_cast<float>(x);
    worst = std::max(worst, std::fabs(generic::exp2_poly(v) / std::exp2(static_cast<double>(v)) - 1.0));
  }
  EXPECT_LT(worst, 2.0e-7);
  worst = 0.0;
  for (double x = -85.9; x < 85.9; x += 0.00071) {
    const float v = static_cast<float>(x);
    worst = std::max(worst, std::fabs(generic::exp_poly(v) / std::exp(static_cast<double>(v)) - 1.0));
  }
  EXPECT_LT(worst, 2.0e-7);
}

TEST(Vec, HadamardEqualsTheReferenceAndIsItsOwnInverse) {
  std::mt19937 rng(21);
  std::normal_distribution<float> normal(0.0f, 2.0f);
  for (int64_t size = 8; size <= 512; size *= 2) {
    const size_t n = static_cast<size_t>(3 * size);
    std::vector<float> x(n);
    for (float& v : x) v = normal(rng);
    x[1] = x[0];  // differences of exactly 0
    std::vector<float> want = x;
    available_kernels().front().vec->hadamard(want.data(), 3, size);
    for (const auto& set : testing::tested_sets()) {
      std::vector<float> got = x;
      set.vec->hadamard(got.data(), 3, size);
      ASSERT_EQ(0, std::memcmp(got.data(), want.data(), n * sizeof(float))) << set.name << " " << size;
      set.vec->hadamard(got.data(), 3, size);
      for (size_t i = 0; i < n; ++i) ASSERT_NEAR(got[i], x[i], 1e-5) << size;
    }
    // Element k of a run is the sum of x_i with the sign of the parity of i & k, over the root of the size.
    for (int64_t k = 0; k < size; ++k) {
      double sum = 0;
      for (int64_t i = 0; i < size; ++i) {
        const double v = x[static_cast<size_t>(size + i)];
        sum += __builtin_parityll(static_cast<unsigned long long>(i & k)) ? -v : v;
      }
      ASSERT_NEAR(want[static_cast<size_t>(size + k)], sum / std::sqrt(static_cast<double>(size)), 1e-4);
    }
  }
}

}  // namespace
}  // namespace toccata::kernels
