// How the work of one layer's attention is cut: pure arithmetic on lengths, without memory.
//
// An item is a tile of query rows: `heads` query heads of one KV head (the whole group, or a part of it if the group
// is wider than a tile) times up to tokens_per_tile consecutive tokens of a span. A unit is one item times one split
// of 512 keys. Items of one span are ordered part by part, the tile with the most keys first, so that the last things
// handed out are small. No cut changes a result (kernels/attn.h), so plans are free to follow the number of threads.
#pragma once

#include <cstdint>
#include <span>

#include "attention/attention.h"

namespace toccata::attention {

struct Item {
  const Span* span = nullptr;
  int kv_head = 0;
  int head = 0;       // first query head
  int heads = 0;      // query heads, side by side
  int32_t token = 0;  // first token within the span
  int32_t tokens = 0;
  int64_t first_key = 0;  // first key that any row sees
  int64_t end_key = 0;
  int64_t window = 0;  // of the queries; 0: none

  int rows() const { return heads * tokens; }
  int64_t first_split() const { return first_key / kernels::kAttnSplit; }
  // The sinks come first, in splits of their own, as their queries are others.
  int sink_splits() const { return static_cast<int>((span->sinks + kernels::kAttnSplit - 1) / kernels::kAttnSplit); }
  int splits() const {
    return sink_splits() + static_cast<int>((end_key - 1) / kernels::kAttnSplit - first_split()) + 1;
  }
};

struct Plan {
  std::span<const Span> spans;
  int64_t window = 0;  // of the layer
  int kv_heads = 0;
  int group = 0;  // query heads per KV head
  int parts = 0;  // parts of a group
  int tokens_per_tile = 0;
  int64_t items = 0;
  bool by_split = false;  // hand out units instead of items

  int64_t span_items(const Span& span) const {
    return static_cast<int64_t>(kv_heads) * parts * ((span.tokens + tokens_per_tile - 1) / tokens_per_tile);
  }
  Item item(const Span& span, int64_t index) const;  // index in [0, span_items(span))
};

// Of some spans, which need not be those of `args`.
Plan make_plan(const Args& args, std::span<const Span> spans, int kv_heads, int threads);

// Walks the items of a plan in order.
class ItemCursor {
 public:
  explicit ItemCursor(const Plan& plan) : plan_(&plan) { skip_empty(); }
  int64_t index() const { return index_; }
  bool done() const { return index_ >= plan_->items; }
  Item item() const { return plan_->item(plan_->spans[span_], index_ - span_begin_); }
  void move_to(int64_t index);  // not backwards

 private:
  void skip_empty();
  const Plan* plan_;
  size_t span_ = 0;
  int64_t span_begin_ = 0;  // index of the span's first item
  int64_t index_ = 0;
};

}  // namespace toccata::attention
