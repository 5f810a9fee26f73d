#include "attention/pieces.h"

#include <algorithm>

namespace toccata::attention {
namespace {

// Where a span is cut first: before its evictions begin, and before the queries that the first one asks.
int64_t first_cut(const Span& span) {
  const kv::CachePlan& plan = *span.plan;
  const bool latest = plan.ranking && plan.ranking->by_latest_queries();
  const int64_t quiet = latest ? std::max<int64_t>(0, plan.dense - plan.interval) : plan.dense;
  return span.first_pos < quiet ? quiet : plan.dense;
}

struct Range {
  int64_t from, to;  // empty behind the last piece
};

// Piece `index` of a span: up to the first cut, then up to multiples of the interval (of which dense is one, or the
// first eviction).
Range range_of(const Span& span, int64_t index) {
  const int64_t interval = span.plan->interval, end = span.first_pos + span.tokens;
  int64_t from = span.first_pos;
  if (const int64_t cut = first_cut(span); from < cut) {
    if (index == 0) return {from, std::min(end, cut)};
    from = cut;
    --index;
  }
  const int64_t begin = index == 0 ? from : (from / interval + index) * interval;
  return {begin, std::min(end, (from / interval + index + 1) * interval)};
}

// The piece of a span whose plan evicts.
Span piece_of(const Span& span, const Range& range, int64_t layer_window) {
  const kv::CachePlan& plan = *span.plan;
  Span piece = span;
  piece.tokens = static_cast<int32_t>(range.to - range.from);
  piece.row_begin += static_cast<int32_t>(range.from - span.first_pos);
  piece.first_pos = range.from;
  if (layer_window > 0) return piece;
  piece.scored = plan.ranking && (!plan.ranking->by_latest_queries() || range.from >= plan.dense - plan.interval);
  if (range.from < plan.dense) return piece;
  if (!plan.ranking) {
    piece.sinks = plan.sinks;
    piece.window = plan.budget - piece.sinks;
    return piece;
  }
  // The kept tokens, and behind them the interval's own, both counted from 0.
  piece.sinks = plan.budget - 1;
  piece.kept = span.blocks;
  piece.blocks = span.blocks + plan.kept_blocks;
  piece.slot = plan.kept_blocks * kernels::kKvBlock;
  piece.first_pos = range.from % plan.interval;
  piece.plan = nullptr;
  return piece;
}

}  // namespace

bool Pieces::next() {
  spans_.clear();
  scored_.clear();
  evictions_.clear();
  for (const Span& span : args_->spans) {
    if (!span.evicts()) {
      if (round_ == 0 && span.tokens > 0) spans_.push_back(span);
      continue;
    }
    const Range range = range_of(span, round_);
    if (range.from >= range.to) continue;
    const Span piece = piece_of(span, range, args_->window);
    if (piece.kept && range.from % span.plan->interval == 0) evictions_.push_back({&span, range.from});
    (piece.scored ? scored_ : spans_).push_back(piece);
  }
  ++round_;
  plain_ = spans_.size();
  spans_.insert(spans_.end(), scored_.begin(), scored_.end());
  return !spans_.empty();
}

}  // namespace toccata::attention
