// How each weight format enters the products: what is the same for every x86 instruction set.
#pragma once

#include "kernels/act_layout.h"
#include "kernels/pack_layout.h"

namespace toccata::kernels {
namespace {

template <bool kWide>
struct ActOf {
  using Type = ActBlock8;
};
template <>
struct ActOf<true> {
  using Type = ActBlock16;
};

// How a format's codes enter the products.
template <DType kType>
struct Traits {
  static constexpr PackLayout kLayout = pack_layout(kType);
  // Wide: multiplied as int16 with ActBlock16. Narrow: unsigned bytes of at most 5 bits, multiplied with ActBlock8.
  static constexpr bool kWide = kType == DType::kQ8_0 || kType == DType::kIQ4_NL || kType == DType::kIQ4_XS ||
                                kType == DType::kQ6_K || kType == DType::kQ3_K || kType == DType::kQ2_K;
  using Act = typename ActOf<kWide>::Type;
  // Codes are unsigned bytes u = value + 2^kCentre (0: u = value), but for the wide ones of 8 bits, which are values.
  static constexpr bool kSigned = kType == DType::kQ8_0 || kType == DType::kIQ4_NL || kType == DType::kIQ4_XS;
  static constexpr int kCentre = kType == DType::kQ4_0                             ? 3
                                 : kType == DType::kQ5_0 || kType == DType::kMXFP4 ? 4
                                 : kType == DType::kQ6_K                           ? 5
                                 : kType == DType::kQ3_K                           ? 2
                                                                                   : 0;
  static constexpr int kMins = kType == DType::kQ2_K ? 2 : kLayout.min >= 0 ? 1 : 0;  // per run of 32
  // Integer scales of a run of wide values: one for each 16 elements, or one for all.
  static constexpr int kFactors = kWide && kLayout.subs > 0 ? kLayout.subs / 8 : 0;
  // AVX2 only: quads that are added up in int16 before they are widened. The sum in a lane, 2 products a quad, must
  // fit:
  //   Q4_0 16*8*127, Q4_1 and Q4_K 16*15*127 = 30,480, MXFP4 16*12*127, Q5_0 16*16*127 = 32,512      (8 quads)
  //   Q5_1 and Q5_K 8*31*127 = 31,496                                                                  (4 quads)
  // and one vpmaddubsw, whose sums saturate, must never: 2*31*127 = 7,874.
  static constexpr int kQuads = kType == DType::kQ5_1 || kType == DType::kQ5_K ? 4 : 8;
};

// A format as the products see it once its codes are unpacked to a panel. Formats of one shape share their kernels.
template <bool kWideCodes, int kCentreBits, int kLaneQuads, int kMinCount>
struct Shape {
  static constexpr bool kWide = kWideCodes;
  using Act = typename ActOf<kWide>::Type;
  static constexpr int kCentre = kCentreBits, kQuads = kLaneQuads, kMins = kMinCount, kFactors = 0;
};
template <class T>
using ShapeOf = Shape<T::kWide, T::kWide ? 0 : T::kCentre, T::kQuads, T::kMins>;

// The quads of a run with both nibbles of a vector used together: 0, 4, 1, 5, ...
constexpr int interleaved(int i) { return i / 2 + i % 2 * 4; }

}  // namespace
}  // namespace toccata::kernels
