// Quantised K and V (kernels/kv_layout.h) as sources of the attention kernels. For many rows a tile is dequantised to
// f32 once, in the layout of an f32 block, and goes on as one; for few rows attn_coded.h dequantises in registers.
#pragma once

#include "kernels/x86/attn_coded.h"

namespace toccata::kernels {
namespace {

template <class L, DType T>
struct UnpackedKeys {
  float* to;
  explicit UnpackedKeys(const AttnScratch& scratch) : to(scratch.floats) {}

  TOCCATA_NOINLINE const std::byte* open(const AttnTile& tile, const std::byte* k) const {
    const std::byte* codes = k + kv_scale_bytes(tile.head_dim);
    float* out = to;
    for (int d = 0; d < tile.head_dim;) {
      const size_t group = static_cast<size_t>(d / kKvGroup * kKvBlock);
      const L low = L::widen(k, group, DType::kF16), high = L::widen(k, group + 16, DType::kF16);
      const int end = d + kKvGroup < tile.head_dim ? d + kKvGroup : tile.head_dim;
      for (; d < end; ++d, codes += kv_k_step(T), out += kKvBlock) {
        constexpr int kHigh = T == DType::kQ4_0 ? 0 : 16;
        (L::from_bytes(codes16<T, false>(codes)) * low).store(out);
        (L::from_bytes(codes16<T, true>(codes + kHigh)) * high).store(out + 16);
      }
    }
    return reinterpret_cast<const std::byte*>(to);
  }
  static TOCCATA_INLINE void scores(const AttnTile& tile, int begin, int end, int p, int last, const std::byte* k,
                                    const std::byte* v, float* s, size_t stride) {
    KeyBlock<L, DType::kF32>::scores(tile, begin, end, p, last, k, v, s, stride);
  }
};

template <class L, DType T>
struct UnpackedValues {
  float* to;
  explicit UnpackedValues(const AttnScratch& scratch) : to(scratch.floats) {}

  // One token: channels to `out`.
  static TOCCATA_INLINE void token(const std::byte* scales, const std::byte* codes, int dim, float* out) {
    for (int d = 0; d < dim; d += kKvGroup, scales += 2, codes += T == DType::kQ4_0 ? 16 : 32, out += kKvGroup) {
      const L scale = L::all(_cvtsh_ss(load_half(scales)));
      constexpr int kHigh = T == DType::kQ4_0 ? 0 : 16;
      const int left = dim - d;
      if (left >= 16) {
        (L::from_bytes(codes16<T, false>(codes)) * scale).store(out);
      } else {
        (L::from_bytes(codes8<T, false>(codes)) * scale).store8(out);
      }
      if (left >= 32) {
        (L::from_bytes(codes16<T, true>(codes + kHigh)) * scale).store(out + 16);
      } else if (left > 16) {
        (L::from_bytes(codes8<T, true>(codes + kHigh)) * scale).store8(out + 16);
      }
    }
  }

  TOCCATA_NOINLINE void open(const AttnTile& tile, const View& view, const std::byte* const* blocks,
                             const std::byte** v) const {
    const int dim = tile.head_dim;
    for (int j = view.first; j < view.end; ++j) {
      const std::byte* run = blocks[j / kKvBlock] + tile.v_offset;
      const int t = j % kKvBlock;
      token(run + 2 * t * kv_groups(dim), run + kv_scale_bytes(dim) + t * kv_v_step(T, dim), dim, to + j * dim);
    }
    for (int i = 0; i < 2; ++i) v[i] = reinterpret_cast<const std::byte*>(to + i * kKvBlock * dim);
  }
  static TOCCATA_INLINE void accumulate(const AttnTile& tile, int begin, int end, int from, int to_key,
                                        const std::byte* const* v, const std::byte* const* next, const float* p,
                                        size_t stride, const float* scale, float* o) {
    ValueBlock<L, DType::kF32>::accumulate(tile, begin, end, from, to_key, v, next, p, stride, scale, o);
  }
};

// f(Source of the type), for quantised types.
template <class L, template <class, DType> class Source, class F>
TOCCATA_INLINE void with_codes(DType type, const AttnScratch& scratch, F f) {
  if (type == DType::kQ8_0) {
    f(Source<L, DType::kQ8_0>(scratch));
  } else {
    f(Source<L, DType::kQ4_0>(scratch));
  }
}

// f(source of keys) for the tile's type, and the same for values. Rows of one group read each code once.
template <class L, class F>
TOCCATA_INLINE void with_keys(const AttnTile& tile, const AttnScratch& scratch, F f) {
  if (kv_quantised(tile.k_type)) {
    tile.rows <= L::kRows ? with_codes<L, CodedKeys>(tile.k_type, scratch, f)
                          : with_codes<L, UnpackedKeys>(tile.k_type, scratch, f);
  } else {
    with_floats<L, KeyBlock>(tile.k_type, f);
  }
}
template <class L, class F>
TOCCATA_INLINE void with_values(const AttnTile& tile, const AttnScratch& scratch, F f) {
  if (kv_quantised(tile.v_type)) {
    tile.rows <= L::kRows ? with_codes<L, CodedValues>(tile.v_type, scratch, f)
                          : with_codes<L, UnpackedValues>(tile.v_type, scratch, f);
  } else {
    with_floats<L, ValueBlock>(tile.v_type, f);
  }
}

}  // namespace
}  // namespace toccata::kernels
