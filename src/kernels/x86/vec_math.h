// Functions of 16 lanes that are the same text for every x86 instruction set. L is the lane type of a set (lanes.h in
// its folder). Everything here and there has internal linkage: nothing that is compiled with the flags of one set may
// be shared with another unit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/exp2.h"
#include "kernels/x86/inline.h"

namespace toccata::kernels {
namespace {

template <class L>
TOCCATA_INLINE L exp2_parts(L t, L f) {
  L p = L::fma(f, L::all(kExp2C5), L::all(kExp2C4));
  p = L::fma(f, p, L::all(kExp2C3));
  p = L::fma(f, p, L::all(kExp2C2));
  p = L::fma(f, p, L::all(kExp2C1));
  p = L::fma(f, p, L::all(1.0f));
  return L::add_exponent(p, t);
}

template <class L>
TOCCATA_INLINE L exp2_poly(L x) {
  const L t = x + L::all(kExpMagic);
  return L::zero_where_less(x, L::all(kExp2Flush), exp2_parts(t, x - (t - L::all(kExpMagic))));
}

template <class L>
TOCCATA_INLINE L exp_poly(L x) {
  x = L::max(L::all(-kExpLimit), x);
  x = L::min(L::all(kExpLimit), x);
  const L t = L::fma(x, L::all(kLog2E), L::all(kExpMagic));
  const L n = t - L::all(kExpMagic);
  return exp2_parts(t, L::fma(x, L::all(kLog2ELow), L::fms(x, L::all(kLog2E), n)));
}

}  // namespace
}  // namespace toccata::kernels
