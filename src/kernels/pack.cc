// Packing of GGUF rows; the layout is described in kernels/pack_layout.h.
#include <cstring>

#include "base/check.h"
#include "kernels/act_layout.h"
#include "kernels/pack_codes.h"
#include "kernels/pack_layout.h"

namespace toccata::kernels {
namespace {

constexpr size_t kAlign = 64;

constexpr size_t round_up(size_t n) { return (n + kAlign - 1) / kAlign * kAlign; }

void store_dword(uint8_t* p, uint32_t v) { std::memcpy(p, &v, sizeof(v)); }

void store_half(uint8_t* p, uint16_t v) { std::memcpy(p, &v, sizeof(v)); }

// Writes the plane made of bits [shift, shift + kBits) of the codes; dst points at the row's dword of its vector 0.
template <int kBits>
void store_plane(const Quads& c, int shift, uint8_t* dst) {
  constexpr uint32_t mask = bytes4((1u << kBits) - 1);
  for (int i = 0; i < kBits; ++i) {
    uint32_t v = 0;
    for (int j = 0; j < 8 / kBits; ++j) {
      const int quad = kBits == 4 ? i + 4 * j : i * (8 / kBits) + j;
      v |= (c.q[quad] >> shift & mask) << (kBits * j);
    }
    store_dword(dst + 64 * i, v);
  }
}

template <DType kType>
void store_codes(const Quads& c, uint8_t* dst) {
  constexpr PackLayout p = pack_layout(kType);
  if constexpr (p.low_bits == 8) {
    for (int i = 0; i < 8; ++i) store_dword(dst + 64 * i, c.q[i]);
  } else {
    store_plane<p.low_bits>(c, 0, dst);
  }
  if constexpr (p.high_bits > 0) store_plane<p.high_bits>(c, p.low_bits, dst + 64 * p.low_bits);
}

// Offset of the byte of sub-block g and row r inside the sub-scales or sub-minima.
constexpr int sub_at(int g, int r) { return g / 2 * 32 + 2 * r + g % 2; }

template <class Block>
void store_scales(const Block& b, uint8_t* dst, int r) {
  store_half(dst + 2 * r, b.d);
}

void store_scales(const quant::MXFP4& b, uint8_t* dst, int r) {
  // The scale's mantissa has one bit at most, so the upper half of the f32 is exact.
  store_half(dst + 2 * r, static_cast<uint16_t>(quant::mxfp4_scale_bits(b.e) >> 16));
}

template <class Block>
void store_scale_and_min(const Block& b, uint8_t* dst, int r) {
  store_half(dst + 2 * r, b.d);
  store_half(dst + 2 * kGroupRows + 2 * r, b.m);
}
void store_scales(const quant::Q4_1& b, uint8_t* dst, int r) { store_scale_and_min(b, dst, r); }
void store_scales(const quant::Q5_1& b, uint8_t* dst, int r) { store_scale_and_min(b, dst, r); }

void store_scales(const quant::Q2_K& b, uint8_t* dst, int r) {
  constexpr PackLayout p = pack_layout(DType::kQ2_K);
  store_half(dst + 2 * r, b.d);
  store_half(dst + p.min + 2 * r, b.dmin);
  for (int g = 0; g < 16; ++g) dst[p.sub_scale + sub_at(g, r)] = b.scales[g];
}

void store_scales(const quant::Q3_K& b, uint8_t* dst, int r) {
  constexpr PackLayout p = pack_layout(DType::kQ3_K);
  store_half(dst + 2 * r, b.d);
  for (int g = 0; g < 16; ++g) {
    dst[p.sub_scale + sub_at(g, r)] = static_cast<uint8_t>(quant::q3_k_scale(b.scales, g) - 32);
  }
}

template <DType kType, class Block>
void store_k4_scales(const Block& b, uint8_t* dst, int r) {
  constexpr PackLayout p = pack_layout(kType);
  store_half(dst + 2 * r, b.d);
  store_half(dst + p.min + 2 * r, b.dmin);
  for (int g = 0; g < 8; ++g) {
    const quant::ScaleMin s = quant::k4_scale_min(b.scales, g);
    dst[p.sub_scale + sub_at(g, r)] = s.scale;
    dst[p.sub_min + sub_at(g, r)] = s.min;
  }
}
void store_scales(const quant::Q4_K& b, uint8_t* dst, int r) { store_k4_scales<DType::kQ4_K>(b, dst, r); }
void store_scales(const quant::Q5_K& b, uint8_t* dst, int r) { store_k4_scales<DType::kQ5_K>(b, dst, r); }

void store_scales(const quant::Q6_K& b, uint8_t* dst, int r) {
  constexpr PackLayout p = pack_layout(DType::kQ6_K);
  store_half(dst + 2 * r, b.d);
  for (int g = 0; g < 16; ++g) dst[p.sub_scale + sub_at(g, r)] = static_cast<uint8_t>(b.scales[g]);
}

void store_scales(const quant::IQ4_XS& b, uint8_t* dst, int r) {
  constexpr PackLayout p = pack_layout(DType::kIQ4_XS);
  store_half(dst + 2 * r, b.d);
  for (int g = 0; g < 8; ++g) {
    dst[p.sub_scale + sub_at(g, r)] = static_cast<uint8_t>(quant::iq4_xs_scale(b, g) - 32);
  }
}

// A missing row is packed as a block of zero bytes, whose value is zero in every format.
template <DType kType, class Block>
void pack_quantised(const uint8_t* src, int64_t cols, int64_t valid, uint8_t* dst) {
  constexpr PackLayout p = pack_layout(kType);
  const auto stride = row_bytes(kType, cols);
  for (int64_t b = 0; b < cols / p.elems; ++b, dst += p.bytes) {
    for (int r = 0; r < kGroupRows; ++r) {
      Block block{};
      if (r < valid) std::memcpy(&block, src + r * stride + static_cast<size_t>(b) * sizeof(Block), sizeof(Block));
      store_scales(block, dst, r);
      for (int run = 0; run < p.elems / 32; ++run) {
        store_codes<kType>(quads_of(block, run), dst + p.codes + run * p.run_bytes() + 4 * r);
      }
    }
  }
}

template <class T>
void pack_floats(const uint8_t* src, int64_t cols, int64_t valid, uint8_t* dst) {
  for (int64_t k = 0; k < cols; ++k) {
    for (int64_t r = 0; r < kGroupRows; ++r) {
      T v = 0;
      if (r < valid) std::memcpy(&v, src + static_cast<size_t>(r * cols + k) * sizeof(T), sizeof(T));
      std::memcpy(dst + static_cast<size_t>(k * kGroupRows + r) * sizeof(T), &v, sizeof(T));
    }
  }
}

}  // namespace

ActKind act_kind(DType weight) {
  switch (weight) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return ActKind::kF32;
    case DType::kQ4_0:
    case DType::kQ4_1:
    case DType::kQ5_0:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
    case DType::kMXFP4:
      return ActKind::kQ8;
    case DType::kQ8_0:
    case DType::kQ2_K:
    case DType::kQ3_K:
    case DType::kQ6_K:
    case DType::kIQ4_NL:
    case DType::kIQ4_XS:
      return ActKind::kQ16;
  }
  return ActKind::kF32;
}

size_t act_row_bytes(ActKind kind, int64_t cols) {
  TOCCATA_CHECK(cols >= 0 && (kind == ActKind::kF32 || cols % 32 == 0));
  const auto n = static_cast<size_t>(cols);
  if (kind == ActKind::kF32) return round_up(n * sizeof(float));
  return round_up(n / 32 * (kind == ActKind::kQ8 ? sizeof(ActBlock8) : sizeof(ActBlock16)));
}

size_t packed_group_bytes(DType type, int64_t cols) {
  const PackLayout p = pack_layout(type);
  TOCCATA_CHECK(cols >= 0 && cols % p.elems == 0);
  return round_up(static_cast<size_t>(cols / p.elems) * static_cast<size_t>(p.bytes));
}

void pack_group(DType type, const std::byte* src, int64_t cols, int64_t valid, std::byte* dst) {
  const PackLayout p = pack_layout(type);
  TOCCATA_CHECK(cols >= 0 && cols % p.elems == 0 && valid >= 0 && valid <= kGroupRows);
  const auto* s = reinterpret_cast<const uint8_t*>(src);
  auto* d = reinterpret_cast<uint8_t*>(dst);
  const size_t used = static_cast<size_t>(cols / p.elems) * static_cast<size_t>(p.bytes);
  std::memset(d + used, 0, packed_group_bytes(type, cols) - used);
  switch (type) {
    case DType::kF32:
      return pack_floats<uint32_t>(s, cols, valid, d);
    case DType::kF16:
    case DType::kBF16:
      return pack_floats<uint16_t>(s, cols, valid, d);
    case DType::kQ8_0:
      return pack_quantised<DType::kQ8_0, quant::Q8_0>(s, cols, valid, d);
    case DType::kQ4_0:
      return pack_quantised<DType::kQ4_0, quant::Q4_0>(s, cols, valid, d);
    case DType::kQ4_1:
      return pack_quantised<DType::kQ4_1, quant::Q4_1>(s, cols, valid, d);
    case DType::kQ5_0:
      return pack_quantised<DType::kQ5_0, quant::Q5_0>(s, cols, valid, d);
    case DType::kQ5_1:
      return pack_quantised<DType::kQ5_1, quant::Q5_1>(s, cols, valid, d);
    case DType::kQ2_K:
      return pack_quantised<DType::kQ2_K, quant::Q2_K>(s, cols, valid, d);
    case DType::kQ3_K:
      return pack_quantised<DType::kQ3_K, quant::Q3_K>(s, cols, valid, d);
    case DType::kQ4_K:
      return pack_quantised<DType::kQ4_K, quant::Q4_K>(s, cols, valid, d);
    case DType::kQ5_K:
      return pack_quantised<DType::kQ5_K, quant::Q5_K>(s, cols, valid, d);
    case DType::kQ6_K:
      return pack_quantised<DType::kQ6_K, quant::Q6_K>(s, cols, valid, d);
    case DType::kIQ4_NL:
      return pack_quantised<DType::kIQ4_NL, quant::IQ4_NL>(s, cols, valid, d);
    case DType::kIQ4_XS:
      return pack_quantised<DType::kIQ4_XS, quant::IQ4_XS>(s, cols, valid, d);
    case DType::kMXFP4:
      return pack_quantised<DType::kMXFP4, quant::MXFP4>(s, cols, valid, d);
  }
}

}  // namespace toccata::kernels
