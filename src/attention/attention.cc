#include "attention/attention.h"

#include "attention/methods.h"

namespace toccata::attention {

std::unique_ptr<Attention> make_attention(Method method, const kernels::KernelSet& kernels, const kv::Layout& layout,
                                          int heads, int threads) {
  return method == Method::kNaive ? make_naive(*kernels.attn, layout, heads, threads)
                                  : make_flash(*kernels.attn, layout, heads, threads);
}

}  // namespace toccata::attention
