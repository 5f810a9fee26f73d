// Products with F32, F16 and BF16 weights: lanes are output rows, one fma per k.
#include "kernels/x86/avx2/matmul_codes.h"
#include "kernels/x86/avx2/matmul_run.h"
#include "kernels/x86/avx2/matmul_types.h"

namespace toccata::kernels::avx2 {
namespace {

template <DType kType>
TOCCATA_INLINE __m256 load_weights(const uint8_t* w) {
  if constexpr (kType == DType::kF32) return _mm256_castsi256_ps(load256(w));
  if constexpr (kType == DType::kF16) return _mm256_cvtph_ps(load128(w));
  if constexpr (kType == DType::kBF16) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load128(w)), 16));
  }
}

// 16 rows times kTokens tokens over k, on top of out (or from zero, if first). 6 tokens: 12 chains of fma, enough for
// its latency, and 12 + 3 registers.
template <DType kType, int kTokens>
void tile(const uint8_t* w, int64_t cols, const float* act, size_t act_stride, float* out, size_t out_stride,
          bool first) {
  constexpr int kBytes = Traits<kType>::kLayout.bytes;
  __m256 acc[2][kTokens];
  unroll<0, 2 * kTokens>([&](auto i) TOCCATA_LAMBDA {
    constexpr int h = i.value / kTokens, t = i.value % kTokens;
    acc[h][t] = first ? _mm256_setzero_ps() : _mm256_loadu_ps(out + t * out_stride + 8 * h);
  });
  for (int64_t k = 0; k < cols; ++k, w += kBytes) {
    const __m256 w0 = load_weights<kType>(w), w1 = load_weights<kType>(w + kBytes / 2);
    unroll<0, kTokens>([&](auto t) TOCCATA_LAMBDA {
      const __m256 a = broadcast_f32(act + t.value * act_stride + k);
      acc[0][t.value] = _mm256_fmadd_ps(w0, a, acc[0][t.value]);
      acc[1][t.value] = _mm256_fmadd_ps(w1, a, acc[1][t.value]);
    });
  }
  unroll<0, 2 * kTokens>([&](auto i) TOCCATA_LAMBDA {
    constexpr int h = i.value / kTokens, t = i.value % kTokens;
    _mm256_storeu_ps(out + t * out_stride + 8 * h, acc[h][t]);
  });
}

template <DType kType>
void strips(const uint8_t* w, int64_t cols, const float* act, size_t act_stride, int64_t rows, float* out,
            size_t out_stride, bool first) {
  int64_t left = rows;
  for (int64_t n = (rows + 5) / 6; n > 0; --n) {
    const int64_t take = (left + n - 1) / n;
    switch (take) {
      case 1:
        tile<kType, 1>(w, cols, act, act_stride, out, out_stride, first);
        break;
      case 2:
        tile<kType, 2>(w, cols, act, act_stride, out, out_stride, first);
        break;
      case 3:
        tile<kType, 3>(w, cols, act, act_stride, out, out_stride, first);
        break;
      case 4:
        tile<kType, 4>(w, cols, act, act_stride, out, out_stride, first);
        break;
      case 5:
        tile<kType, 5>(w, cols, act, act_stride, out, out_stride, first);
        break;
      default:
        tile<kType, 6>(w, cols, act, act_stride, out, out_stride, first);
        break;
    }
    act += static_cast<size_t>(take) * act_stride;
    out += static_cast<size_t>(take) * out_stride;
    left -= take;
  }
}

constexpr int64_t kSlab = 256;      // k per pass: 16 KB of f32 weights, 6 KB of activations in L1
constexpr int64_t kTile = 96;       // tokens
constexpr int64_t kPanelRows = 24;  // from here 16-bit weights are widened once per slab and not once per strip

template <DType kType>
void matmul_slab(const uint8_t* w, int64_t cols, const float* act, size_t act_stride, int64_t rows, float* out,
                 size_t out_stride, bool first, float* panel) {
  if (kType == DType::kF32 || rows < kPanelRows) {
    return strips<kType>(w, cols, act, act_stride, rows, out, out_stride, first);
  }
  constexpr int kBytes = Traits<kType>::kLayout.bytes;
  for (int64_t k = 0; k < cols; ++k) {
    _mm256_storeu_ps(panel + 16 * k, load_weights<kType>(w + k * kBytes));
    _mm256_storeu_ps(panel + 16 * k + 8, load_weights<kType>(w + k * kBytes + kBytes / 2));
  }
  strips<DType::kF32>(reinterpret_cast<const uint8_t*>(panel), cols, act, act_stride, rows, out, out_stride, first);
}

template <DType kType>
void matmul_float(const PackedMatrix& w, int64_t group_begin, int64_t group_end, const std::byte* act,
                  size_t act_stride, int64_t rows, float* out, size_t out_stride, std::byte* scratch) {
  const auto* groups = reinterpret_cast<const uint8_t*>(w.data);
  const auto* a = reinterpret_cast<const float*>(act);
  const size_t stride = act_stride / sizeof(float);
  const int64_t slab = rows <= 6 ? w.cols : kSlab;
  for (int64_t t = 0; t < rows; t += kTile) {
    const int64_t n = rows - t < kTile ? rows - t : kTile;
    for (int64_t g = group_begin; g < group_end; ++g) {
      const uint8_t* group = groups + static_cast<size_t>(g) * w.group_bytes;
      float* o = out + static_cast<size_t>(t) * out_stride + g * kGroupRows;
      for (int64_t k = 0; k < w.cols; k += slab) {
        const int64_t part = w.cols - k < slab ? w.cols - k : slab;
        matmul_slab<kType>(group + k * Traits<kType>::kLayout.bytes, part, a + static_cast<size_t>(t) * stride + k,
                           stride, n, o, out_stride, k == 0, reinterpret_cast<float*>(scratch));
      }
    }
  }
}

}  // namespace

const MatmulFn matmul_f32 = matmul_float<DType::kF32>;
const MatmulFn matmul_f16 = matmul_float<DType::kF16>;
const MatmulFn matmul_bf16 = matmul_float<DType::kBF16>;

}  // namespace toccata::kernels::avx2
