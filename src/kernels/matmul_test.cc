#include "kernels/matmul.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/act_layout.h"
#include "kernels/matmul_testing.h"
#include "tensor/dequantize.h"

namespace toccata::kernels {
namespace {

using testing::Aligned;
using testing::Fill;

std::vector<float> normals(int64_t n, std::mt19937& rng) {
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(n));
  for (float& v : x) v = normal(rng);
  return x;
}

// Values of a quantised activation row.
std::vector<double> read_act(ActKind kind, const std::byte* row, int64_t cols) {
  std::vector<double> y;
  for (int64_t k = 0; k < cols; ++k) {
    if (kind == ActKind::kF32) {
      y.push_back(static_cast<double>(reinterpret_cast<const float*>(row)[k]));
    } else if (kind == ActKind::kQ8_32) {
      const auto& b = reinterpret_cast<const ActBlock32*>(row)[k / 32];
      y.push_back(static_cast<double>(b.d) * b.q[k % 32]);
    } else {
      const auto& b = reinterpret_cast<const ActBlock256*>(row)[k / 256];
      y.push_back(static_cast<double>(b.d) * b.q[k % 256]);
    }
  }
  return y;
}

class QuantizeAct : public ::testing::TestWithParam<ActKind> {};

TEST_P(QuantizeAct, IsWithinHalfAStep) {
  std::mt19937 rng(1);
  const int64_t cols = 512;
  const int64_t block = GetParam() == ActKind::kQ8_32 ? 32 : 256;
  const auto x = normals(cols, rng);
  Aligned row(act_row_bytes(GetParam(), cols));
  generic::kMatmul.quantize_act(GetParam(), x.data(), cols, row.data());
  const auto y = read_act(GetParam(), row.data(), cols);
  for (int64_t b = 0; b < cols; b += block) {
    double amax = 0;
    for (int64_t k = b; k < b + block; ++k) amax = std::max(amax, std::abs(static_cast<double>(x[static_cast<size_t>(k)])));
    for (int64_t k = b; k < b + block; ++k) {
      const auto i = static_cast<size_t>(k);
      EXPECT_LE(std::abs(y[i] - static_cast<double>(x[i])), amax / 127 * 0.50001);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, QuantizeAct, ::testing::Values(ActKind::kQ8_32, ActKind::kQ8_256));

class Matmul : public ::testing::TestWithParam<int> {
 protected:
  DType type() const { return static_cast<DType>(GetParam()); }
  ActKind kind() const { return act_kind(type()); }
};

// One row of a matrix in double precision: the product, and the sum of the magnitudes of its terms.
struct Exact {
  double sum = 0, magnitude = 0;
};

Exact exact_product(const std::vector<float>& w, const std::vector<double>& a) {
  Exact e;
  for (size_t k = 0; k < w.size(); ++k) {
    e.sum += static_cast<double>(w[k]) * a[k];
    e.magnitude += std::abs(static_cast<double>(w[k]) * a[k]);
  }
  return e;
}

TEST_P(Matmul, GenericEqualsDoublePrecision) {
  std::mt19937 rng(7);
  const int64_t n = 20, rows = 3;
  for (const int64_t cols : {256, 768}) {
    const auto gguf = testing::make_rows(type(), n, cols, Fill::kRandom, rng);
    const testing::Packed packed(type(), n, cols, gguf);
    const size_t stride = act_row_bytes(kind(), cols);
    Aligned act(static_cast<size_t>(rows) * stride), out(4 * 32 * rows), scratch(kMatmulScratchBytes);
    for (int64_t t = 0; t < rows; ++t) {
      generic::kMatmul.quantize_act(kind(), normals(cols, rng).data(), cols, act.data() + static_cast<size_t>(t) * stride);
    }
    generic::kMatmul.matmul(packed.matrix(), 0, 2, act.data(), stride, rows, out.as<float>(), 32, scratch.data());
    std::vector<float> w(static_cast<size_t>(cols));
    for (int64_t t = 0; t < rows; ++t) {
      const auto a = read_act(kind(), act.data() + static_cast<size_t>(t) * stride, cols);
      for (int64_t r = 0; r < 32; ++r) {
        const float got = out.as<float>()[t * 32 + r];
        if (r >= n) {
          EXPECT_EQ(got, 0.0f);
          continue;
        }
        dequantize_row(type(), gguf.data() + static_cast<size_t>(r) * row_bytes(type(), cols), cols, w.data());
        const Exact e = exact_product(w, a);
        EXPECT_NEAR(static_cast<double>(got), e.sum, 1e-5 * e.magnitude) << "token " << t << " row " << r;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, Matmul, ::testing::Range(0, kDTypeCount), [](const auto& i) {
  return std::string(dtype_info(static_cast<DType>(i.param)).name);
});

}  // namespace
}  // namespace toccata::kernels
