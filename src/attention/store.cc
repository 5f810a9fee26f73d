#include "attention/store.h"

#include <algorithm>

namespace toccata::attention {
namespace {

constexpr int64_t kBlock = kernels::kKvBlock;

int64_t blocks_of(const Span& span) {
  if (span.tokens <= 0) return 0;
  return (span.first_pos + span.tokens - 1) / kBlock - span.first_pos / kBlock + 1;
}

// The rows of one span, KV head and block; `block` counts from the span's first.
void store_block(const Args& args, const kernels::AttnKernels& kernels, const Span& span, int64_t block, int head) {
  const kv::Layout& layout = args.pool->layout(args.layer);
  const int64_t index = span.first_pos / kBlock + block;
  const int64_t begin = std::max(span.first_pos, index * kBlock);
  const int64_t end = std::min(span.first_pos + span.tokens, (index + 1) * kBlock);
  const int slot = static_cast<int>(begin % kBlock), tokens = static_cast<int>(end - begin);
  const size_t row = static_cast<size_t>(span.row_begin + (begin - span.first_pos));
  const size_t column = static_cast<size_t>(head) * static_cast<size_t>(layout.head_dim);
  std::byte* k = args.pool->head(args.layer, span.block(index), head);
  kernels.store_k(layout.k_type, args.k + row * args.k_stride + column, args.k_stride, layout.head_dim, slot, tokens,
                  k);
  kernels.store_v(layout.v_type, args.v + row * args.v_stride + column, args.v_stride, layout.head_dim, slot, tokens,
                  k + layout.k_bytes());
}

}  // namespace

void store_step(Team& team, const Args& args, std::span<const Span> spans, const kernels::AttnKernels& kernels) {
  const int kv_heads = args.pool->layout().kv_heads;
  int64_t units = 0;
  for (const Span& span : spans) units += blocks_of(span) * kv_heads;
  size_t span = 0;
  int64_t span_begin = 0;
  const int64_t grain = std::max<int64_t>(1, units / (8 * team.size()));
  team.parallel_for(units, grain, [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; ++u) {
      for (int64_t count; u >= span_begin + (count = blocks_of(spans[span]) * kv_heads); ++span) {
        span_begin += count;
      }
      const int64_t index = u - span_begin;
      store_block(args, kernels, spans[span], index / kv_heads, static_cast<int>(index % kv_heads));
    }
  });
}

}  // namespace toccata::attention
