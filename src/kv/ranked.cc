#include "kv/ranked.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace toccata::kv {
namespace {

constexpr int64_t kBlock = kernels::kKvBlock;

// Where the tokens are before an eviction.
struct Present {
  int64_t kept = 0;   // in slots [0, kept)
  int64_t begin = 0;  // the others in slots [begin, begin + others), the latest ones in order
  int64_t others = 0;
  int64_t count() const { return kept + others; }
};

Present present(const CachePlan& plan, int64_t at) {
  if (at == plan.dense) return {plan.dense, 0, 0};
  return {plan.budget - 1, plan.kept_blocks * kBlock, plan.interval};
}

// Tokens that may go, in the order of their slots.
void collect(const CachePlan& plan, const Present& now, const float* attention, const int32_t* positions, int64_t at,
             EvictionScratch& scratch) {
  scratch.tokens.clear();
  const int64_t end = at - (plan.recent - 1);  // from here on: recent
  const auto add = [&](int64_t position, int64_t slot) {
    if (position < plan.sinks || position >= end) return;
    scratch.tokens.push_back({static_cast<int32_t>(position), attention[slot], 0.0f});
  };
  const bool first = at == plan.dense;
  for (int64_t s = 0; s < now.kept; ++s) add(first ? s : positions[s], s);
  for (int64_t i = 0; i < now.others; ++i) add(at - now.others + i, now.begin + i);
}

// Byte i of a channel's 16 has token i below and token i + 16 above.
void move_nibbles(const std::byte* codes_from, int from, std::byte* codes_to, int to, int channels) {
  constexpr int kHalf = kernels::kKvBlock / 2;
  for (int d = 0; d < channels; ++d, codes_from += kHalf, codes_to += kHalf) {
    const int code = std::to_integer<int>(codes_from[from % kHalf]) >> (from < kHalf ? 0 : 4) & 15;
    const int other = std::to_integer<int>(codes_to[to % kHalf]) & (to < kHalf ? 0xf0 : 0x0f);
    codes_to[to % kHalf] = static_cast<std::byte>(other | code << (to < kHalf ? 0 : 4));
  }
}

}  // namespace

Result<RankedState> RankedState::create(const CachePlan& plan, int layers, int kv_heads) {
  RankedState s;
  s.kv_heads_ = kv_heads;
  s.slots_ = (plan.kept_blocks + (plan.interval + kBlock - 1) / kBlock + 1) * kBlock;
  s.slots_ = (s.slots_ + 63) / 64 * 64;
  const size_t bytes = static_cast<size_t>(s.slots_) * static_cast<size_t>(layers) * static_cast<size_t>(kv_heads) * 4;
  for (AlignedBuffer* buffer : {&s.attention_, &s.positions_}) {
    Result<AlignedBuffer> memory = AlignedBuffer::allocate(bytes);
    if (!memory) return tl::unexpected(memory.error());
    *buffer = std::move(*memory);
  }
  return s;
}

void RankedState::clear() { std::memset(attention_.data(), 0, attention_.size()); }

// kernels/kv_layout.h: K has its tokens side by side, V one after the other.
void move_token(const Layout& layout, const std::byte* k_from, int from, std::byte* k_to, int to) {
  const int dim = layout.head_dim, groups = kernels::kv_groups(dim);
  const auto move = [&](size_t base, size_t step, int count, size_t stride, size_t bytes) {
    for (int i = 0; i < count; ++i) {
      const size_t row = base + static_cast<size_t>(i) * stride;
      std::memcpy(k_to + row + static_cast<size_t>(to) * step, k_from + row + static_cast<size_t>(from) * step, bytes);
    }
  };
  const size_t scales = static_cast<size_t>(kernels::kv_scale_bytes(dim)), block = static_cast<size_t>(kBlock);
  const size_t v = layout.k_bytes(), channels = static_cast<size_t>(dim);
  if (!kernels::kv_quantised(layout.k_type)) {
    const size_t element = layout.k_type == DType::kF32 ? 4 : 2;
    move(0, element, dim, block * element, element);
  } else {
    move(0, 2, groups, 2 * block, 2);
    if (layout.k_type == DType::kQ8_0) move(scales, 1, dim, block, 1);
    if (layout.k_type == DType::kQ4_0) move_nibbles(k_from + scales, from, k_to + scales, to, dim);
  }
  if (!kernels::kv_quantised(layout.v_type)) {
    const size_t token = channels * (layout.v_type == DType::kF32 ? 4 : 2);
    move(v, token, 1, 0, token);
  } else {
    const size_t shared = 2 * static_cast<size_t>(groups);
    const auto token = static_cast<size_t>(kernels::kv_v_step(layout.v_type, dim));
    move(v, shared, 1, 0, shared);
    move(v + scales, token, 1, 0, token);
  }
}

void evict(const CachePlan& plan, const RankedState& state, const Pool& pool, int layer, int kv_head,
           const BlockId* blocks, int64_t at, EvictionScratch& scratch) {
  TOCCATA_CHECK(at >= plan.dense && at % plan.interval == 0);
  float* attention = state.attention(layer, kv_head);
  int32_t* positions = state.positions(layer, kv_head);
  const Present now = present(plan, at);
  if (at == plan.dense) {
    for (int64_t s = 0; s < now.kept; ++s) positions[s] = static_cast<int32_t>(s);
  }
  collect(plan, now, attention, positions, at, scratch);
  const int64_t evicted = now.count() - (plan.budget - 1);
  TOCCATA_CHECK(evicted >= 0 && evicted <= std::ssize(scratch.tokens));
  plan.ranking->weigh(scratch.tokens);
  // The lightest go; of equals the older one. Positions differ, so the order is a total one.
  std::vector<Policy::Token>& tokens = scratch.tokens;
  std::nth_element(tokens.begin(), tokens.begin() + evicted - (evicted > 0 ? 1 : 0), tokens.end(),
                   [](const Policy::Token& a, const Policy::Token& b) {
                     return a.weight < b.weight || (a.weight == b.weight && a.position < b.position);
                   });
  std::vector<int32_t>& gone = scratch.slots;  // positions
  gone.clear();
  for (int64_t i = 0; i < evicted; ++i) gone.push_back(tokens[static_cast<size_t>(i)].position);
  std::sort(gone.begin(), gone.end());
  const auto goes = [&](int64_t position) {
    return std::binary_search(gone.begin(), gone.end(), static_cast<int32_t>(position));
  };

  // Slots below budget - 1 that become free, and tokens beyond that stay.
  scratch.holes.clear();
  scratch.movers.clear();
  const int64_t keep = plan.budget - 1;
  const auto place = [&](int64_t slot, int64_t position) {
    const bool out = goes(position);
    if (slot < keep && out) scratch.holes.push_back(static_cast<int32_t>(slot));
    if (slot >= keep && !out) {
      scratch.movers.push_back(static_cast<int32_t>(slot));
      positions[slot] = static_cast<int32_t>(position);
    }
  };
  for (int64_t s = 0; s < now.kept; ++s) place(s, positions[s]);
  for (int64_t i = 0; i < now.others; ++i) place(now.begin + i, at - now.others + i);
  TOCCATA_CHECK(scratch.holes.size() == scratch.movers.size());
  for (size_t i = 0; i < scratch.holes.size(); ++i) {
    const int32_t from = scratch.movers[i], to = scratch.holes[i];
    move_token(pool.layout(layer), pool.head(layer, blocks[from / kBlock], kv_head), static_cast<int>(from % kBlock),
               pool.head(layer, blocks[to / kBlock], kv_head), static_cast<int>(to % kBlock));
    attention[to] = attention[from];
    positions[to] = positions[from];
  }
  // The next piece begins at nothing.
  float* rest = attention + (plan.ranking->by_latest_queries() ? 0 : keep);
  std::fill(rest, attention + state.slots(), 0.0f);
}

std::vector<int32_t> held_positions(const CachePlan& plan, const RankedState* state, int layer, int kv_head,
                                    int64_t tokens) {
  std::vector<int32_t> held;
  int64_t rest = 0;  // from here on all are there
  if (plan.evicted(tokens) && plan.ranking) {
    const int32_t* kept = state->positions(layer, kv_head);
    held.assign(kept, kept + plan.budget - 1);
    std::sort(held.begin(), held.end());
    rest = (tokens - 1) / plan.interval * plan.interval;
  } else if (plan.evicted(tokens)) {
    for (int64_t p = 0; p < plan.sinks; ++p) held.push_back(static_cast<int32_t>(p));
    rest = tokens - (plan.budget - plan.sinks);
  }
  for (int64_t p = rest; p < tokens; ++p) held.push_back(static_cast<int32_t>(p));
  return held;
}

}  // namespace toccata::kv
