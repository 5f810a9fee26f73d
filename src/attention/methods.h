// The two methods behind make_attention(); null when their scratch memory cannot be had.
#pragma once

#include <memory>

#include "attention/attention.h"
#include "kernels/attn.h"

namespace toccata::attention {

std::unique_ptr<Attention> make_flash(const kernels::AttnKernels& kernels, const kv::Layout& layout, int heads,
                                      int threads);
std::unique_ptr<Attention> make_naive(const kernels::AttnKernels& kernels, const kv::Layout& layout, int heads,
                                      int threads);

// scale * log2(e) of kernels/attn.h, rounded once.
inline float exponent_scale(float scale) { return static_cast<float>(static_cast<double>(scale) * 1.4426950408889634); }

}  // namespace toccata::attention
