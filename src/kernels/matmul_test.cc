#include "kernels/matmul.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/cpu_features.h"
#include "kernels/act_layout.h"
#include "kernels/matmul_testing.h"
#include "tensor/dequantize.h"

#if TOCCATA_SIMDE
namespace toccata::kernels::avx512_simde {
extern const MatmulKernels kMatmul;
}
#endif

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
    } else if (kind == ActKind::kQ8) {
      const auto& b = reinterpret_cast<const ActBlock8*>(row)[k / 32];
      y.push_back(static_cast<double>(b.d) * b.q[k % 32]);
    } else {
      const auto& b = reinterpret_cast<const ActBlock16*>(row)[k / 32];
      y.push_back(static_cast<double>(b.d) * b.q[act16_index(static_cast<int>(k % 32))]);
    }
  }
  return y;
}

class QuantizeAct : public ::testing::TestWithParam<ActKind> {};

TEST_P(QuantizeAct, IsWithinHalfAStep) {
  std::mt19937 rng(1);
  const int64_t cols = 512;
  const double most = GetParam() == ActKind::kQ8 ? 127 : 16383;
  auto x = normals(cols, rng);
  for (size_t i = 0; i < x.size(); ++i) x[i] *= static_cast<float>(1 + i / 32 * 5 % 11);  // runs of different size
  Aligned row(act_row_bytes(GetParam(), cols));
  generic::kMatmul.quantize_act(GetParam(), x.data(), cols, row.data());
  const auto y = read_act(GetParam(), row.data(), cols);
  const auto amax = [&](int64_t begin, int64_t n) {
    double m = 0;
    for (int64_t k = begin; k < begin + n; ++k)
      m = std::max(m, std::abs(static_cast<double>(x[static_cast<size_t>(k)])));
    return m;
  };
  for (int64_t k = 0; k < cols; ++k) {
    const double scale = amax(k / 32 * 32, 32) / most;
    const auto i = static_cast<size_t>(k);
    EXPECT_LE(std::abs(y[i] - static_cast<double>(x[i])), scale * 0.5001) << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, QuantizeAct, ::testing::Values(ActKind::kQ8, ActKind::kQ16));

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
      generic::kMatmul.quantize_act(kind(), normals(cols, rng).data(), cols,
                                    act.data() + static_cast<size_t>(t) * stride);
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

// The kernel tables that this CPU can run, besides the reference, and AVX-512 through SIMDe.
struct Isa {
  const char* name;
  const MatmulKernels* kernels;
};

std::vector<Isa> other_isas() {
  std::vector<Isa> isas;
#if TOCCATA_HAVE_AVX2
  if (cpu_features().avx2) isas.push_back({"avx2", &avx2::kMatmul});
#endif
#if TOCCATA_HAVE_AVX512
  if (cpu_features().avx512 && cpu_features().avx512_vnni) isas.push_back({"avx512", &avx512::kMatmul});
#endif
#if TOCCATA_SIMDE
  if (cpu_features().avx2) isas.push_back({"avx512 by SIMDe", &avx512_simde::kMatmul});
#endif
  return isas;
}

// What the activations look like before they are quantised.
enum class Input { kNormal, kPlus, kMinus, kAlternating, kZero, kTiny, kHuge };
constexpr Input kInputs[] = {Input::kNormal, Input::kPlus, Input::kMinus, Input::kAlternating,
                             Input::kZero,   Input::kTiny, Input::kHuge};

std::vector<float> make_input(Input input, int64_t n, std::mt19937& rng) {
  auto x = normals(n, rng);
  for (size_t i = 0; i < x.size(); ++i) {
    switch (input) {
      case Input::kNormal:
        break;
      case Input::kPlus:
        x[i] = 1;
        break;  // all codes + 127
      case Input::kMinus:
        x[i] = -1;
        break;  // all codes - 127
      case Input::kAlternating:
        x[i] = i / 4 % 2 == 0 ? 1.0f : -1.0f;
        break;
      case Input::kZero:
        x[i] = 0;
        break;
      case Input::kTiny:
        x[i] *= 1e-38f;
        break;  // below kActTiny, some subnormal
      case Input::kHuge:
        x[i] *= 1e30f;
        break;
    }
  }
  return x;
}

struct Problem {
  int64_t rows, n, cols;
  Fill fill = Fill::kRandom;
};

// Multiplies with both tables, each in two pieces split at group `split`, and compares all bits.
void expect_equal(DType type, const Problem& p, Input input, const Isa& isa, std::mt19937& rng) {
  const auto gguf = testing::make_rows(type, p.n, p.cols, p.fill, rng);
  const testing::Packed packed(type, p.n, p.cols, gguf);
  const PackedMatrix& w = packed.matrix();
  const ActKind kind = act_kind(type);
  const size_t stride = act_row_bytes(kind, p.cols), used = static_cast<size_t>(p.rows) * stride;
  Aligned act(used), act2(used), scratch(kMatmulScratchBytes);
  for (int64_t t = 0; t < p.rows; ++t) {
    const auto x = make_input(input, p.cols, rng);
    generic::kMatmul.quantize_act(kind, x.data(), p.cols, act.data() + static_cast<size_t>(t) * stride);
    isa.kernels->quantize_act(kind, x.data(), p.cols, act2.data() + static_cast<size_t>(t) * stride);
  }
  ASSERT_EQ(std::memcmp(act.data(), act2.data(), used), 0) << "quantize_act";
  // Rows of the output are wider than needed: what lies behind must not be touched.
  const size_t width = static_cast<size_t>(w.padded_rows()) + 16, floats = static_cast<size_t>(p.rows) * width;
  Aligned want(4 * floats), got(4 * floats);
  generic::kMatmul.matmul(w, 0, w.groups(), act.data(), stride, p.rows, want.as<float>(), width, scratch.data());
  const int64_t split = static_cast<int64_t>(rng() % static_cast<uint64_t>(w.groups() + 1));
  for (const auto& [begin, end] : {std::pair{split, w.groups()}, std::pair{int64_t{0}, split}}) {
    isa.kernels->matmul(w, begin, end, act.data(), stride, p.rows, got.as<float>(), width, scratch.data());
  }
  for (size_t i = 0; i < floats; ++i) {
    ASSERT_EQ(got.as<uint32_t>()[i], want.as<uint32_t>()[i])
        << isa.name << ": token " << i / width << " of " << p.rows << ", row " << i % width << " of " << p.n
        << ", cols " << p.cols << ": " << got.as<float>()[i] << " and " << want.as<float>()[i];
  }
}

TEST_P(Matmul, EveryRowCountGivesTheReferencesBits) {
  std::mt19937 rng(11);
  for (const Isa& isa : other_isas()) {
    for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 64, 130, 300}) {
      for (const int64_t cols : {256, 1280}) {
        ASSERT_NO_FATAL_FAILURE(expect_equal(type(), {rows, 40, cols}, Input::kNormal, isa, rng));
      }
    }
  }
}

TEST_P(Matmul, EveryDepthGivesTheReferencesBits) {
  std::mt19937 rng(12);
  const int64_t unit = std::max(dtype_info(type()).block_elems, 32);
  for (const Isa& isa : other_isas()) {
    for (const int64_t rows : {1, 3, 6, 20}) {
      for (const int64_t blocks : {1, 2, 3, 5, 8, 17, 32, 33}) {
        ASSERT_NO_FATAL_FAILURE(expect_equal(type(), {rows, 16, blocks * unit}, Input::kNormal, isa, rng));
      }
    }
    ASSERT_NO_FATAL_FAILURE(expect_equal(type(), {2, 16, 8192}, Input::kNormal, isa, rng));
  }
}

// The int16 sums reach their bounds here: all codes at an end of their range, all activations at + or - 127.
TEST_P(Matmul, ExtremeCodesGiveTheReferencesBits) {
  std::mt19937 rng(13);
  for (const Isa& isa : other_isas()) {
    for (const Fill fill : {Fill::kRandom, Fill::kAllZeroBits, Fill::kAllOneBits, Fill::kLowest}) {
      for (const Input input : kInputs) {
        for (const int64_t rows : {1, 3, 8, 18}) {
          ASSERT_NO_FATAL_FAILURE(expect_equal(type(), {rows, 17, 512, fill}, input, isa, rng))
              << "fill " << static_cast<int>(fill) << " input " << static_cast<int>(input);
        }
      }
    }
  }
}

// A NaN or an infinity in one token reaches that token's outputs and no other's.
TEST_P(Matmul, NotANumberStaysInItsToken) {
  std::mt19937 rng(14);
  std::vector<Isa> isas = other_isas();
  isas.push_back({"generic", &generic::kMatmul});
  const int64_t cols = 512, rows = 3;
  const testing::Packed packed(type(), 16, cols, testing::make_rows(type(), 16, cols, Fill::kRandom, rng));
  const size_t stride = act_row_bytes(kind(), cols);
  for (const Isa& isa : isas) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      Aligned act(3 * stride), out(4 * 16 * rows), scratch(kMatmulScratchBytes);
      for (size_t t = 0; t < 3; ++t) {
        auto x = normals(cols, rng);
        if (t == 1) x[300] = bad;
        isa.kernels->quantize_act(kind(), x.data(), cols, act.data() + t * stride);
      }
      isa.kernels->matmul(packed.matrix(), 0, 1, act.data(), stride, rows, out.as<float>(), 16, scratch.data());
      int broken = 0;
      for (int i = 0; i < 48; ++i) {
        const bool finite = std::isfinite(out.as<float>()[i]);
        if (i / 16 == 1)
          broken += finite ? 0 : 1;
        else
          EXPECT_TRUE(finite) << isa.name << " " << i;
      }
      EXPECT_GT(broken, 8) << isa.name << " " << bad;  // a weight may be zero
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, Matmul, ::testing::Range(0, kDTypeCount),
                         [](const auto& i) { return std::string(dtype_info(static_cast<DType>(i.param)).name); });

}  // namespace
}  // namespace toccata::kernels
