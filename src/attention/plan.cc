#include "attention/plan.h"

#include <algorithm>

#include "base/check.h"

namespace toccata::attention {
namespace {

struct Totals {
  int64_t items = 0, units = 0;
  double cost = 0.0, largest = 0.0;
};

// Cost of an item in row-key products. Each key also costs about as much as 4 rows for its own reading.
Totals totals(const Plan& plan) {
  Totals sum;
  const int64_t copies = static_cast<int64_t>(plan.kv_heads) * plan.parts;
  for (const Span& span : plan.spans) {
    const int64_t tiles = plan.span_items(span) / copies;
    for (int64_t t = 0; t < tiles; ++t) {
      const Item item = plan.item(span, t);
      const double cost = static_cast<double>(item.end_key - item.first_key + span.sinks) * (item.rows() + 4);
      sum.items += copies;
      sum.units += copies * item.splits();
      sum.cost += static_cast<double>(copies) * cost;
      sum.largest = std::max(sum.largest, cost);
    }
  }
  return sum;
}

}  // namespace

Item Plan::item(const Span& span, int64_t index) const {
  const int64_t tiles = (span.tokens + tokens_per_tile - 1) / tokens_per_tile;
  const int64_t copy = index / tiles;
  const int64_t tile = tiles - 1 - index % tiles;
  const int part = static_cast<int>(copy % parts);
  Item item;
  item.span = &span;
  item.kv_head = static_cast<int>(copy / parts);
  const int begin = group * part / parts, end = group * (part + 1) / parts;
  item.head = item.kv_head * group + begin;
  item.heads = end - begin;
  item.token = static_cast<int32_t>(tile * tokens_per_tile);
  item.tokens = std::min<int32_t>(tokens_per_tile, span.tokens - item.token);
  const int64_t pos = span.first_pos + item.token;
  item.window = window > 0 ? window : span.window;
  item.first_key = item.window > 0 ? std::max<int64_t>(0, pos - item.window + 1) : 0;
  item.end_key = pos + item.tokens;
  return item;
}

Plan make_plan(const Args& args, std::span<const Span> spans, int kv_heads, int threads) {
  TOCCATA_CHECK(args.heads % kv_heads == 0);
  Plan plan;
  plan.spans = spans;
  plan.window = args.window;
  plan.kv_heads = kv_heads;
  plan.group = args.heads / kv_heads;
  plan.parts = (plan.group + kernels::kAttnRows - 1) / kernels::kAttnRows;
  const int heads = (plan.group + plan.parts - 1) / plan.parts;
  plan.tokens_per_tile = kernels::kAttnRows / heads;
  Totals sum = totals(plan);
  // Too little to share out: smaller tiles, as long as a tile still reuses each key for a few dozen rows.
  while (sum.units < 4 * threads && threads > 1 && plan.tokens_per_tile * heads > 24 && plan.tokens_per_tile > 1) {
    plan.tokens_per_tile = (plan.tokens_per_tile + 1) / 2;
    sum = totals(plan);
  }
  plan.items = sum.items;
  // Whole items need no merge across threads; their price is that threads wait for the longest one.
  plan.by_split = threads > 1 && sum.units > sum.items && sum.largest * 8 * threads > sum.cost;
  return plan;
}

void ItemCursor::skip_empty() {
  while (span_ < plan_->spans.size()) {
    const int64_t count = plan_->span_items(plan_->spans[span_]);
    if (index_ < span_begin_ + count) return;
    span_begin_ += count;
    ++span_;
  }
}

void ItemCursor::move_to(int64_t index) {
  index_ = index;
  skip_empty();
}

}  // namespace toccata::attention
