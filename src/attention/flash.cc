// Attention in tiles (kernels/attn.h): the scores of a tile live only as long as the tile, so the scratch does not
// grow with the context. Dao et al. 2022; splits over the keys as in Flash-Decoding (Dao et al. 2023).
#include "attention/flash.h"

#include <algorithm>
#include <cstring>

#include "attention/store.h"
#include "base/check.h"

namespace toccata::attention {

using kernels::AttnState;
using kernels::AttnTile;
using kernels::kAttnSplit;
using kernels::kKvBlock;

Flash::Flash(const kernels::AttnKernels& kernels, const kv::Layout& layout, int heads, int threads,
             FlashScratch scratch)
    : kernels_(kernels),
      layout_(layout),
      group_(heads / layout.kv_heads),
      threads_(threads),
      scratch_(std::move(scratch)),
      pieces_(static_cast<size_t>(threads)),
      batches_(static_cast<size_t>(threads)),
      evictions_(static_cast<size_t>(threads)) {}

void Flash::run(Team& team, const Args& args) {
  TOCCATA_CHECK(team.size() <= threads_ && args.scale > 0.0f);
  if (std::none_of(args.spans.begin(), args.spans.end(), [](const Span& s) { return s.evicts(); })) {
    store_step(team, args, args.spans, kernels_);
    run_spans(team, args, args.spans);
    return;
  }
  Pieces& pieces = pieces_[static_cast<size_t>(team.rank())];
  for (pieces.begin(args); pieces.next();) {
    if (!pieces.evictions().empty()) evict(team, args, pieces.evictions());
    store_step(team, args, pieces.spans(), kernels_);
    if (!pieces.plain().empty()) run_spans(team, args, pieces.plain());
    if (!pieces.scored().empty()) run_scored(team, args, pieces.scored());
  }
}

void Flash::run_spans(Team& team, const Args& args, std::span<const Span> spans) {
  const Plan plan = make_plan(args, spans, layout_.kv_heads, team.size());
  plan.by_split ? run_units(team, args, plan) : run_items(team, args, plan);
}

AttnTile Flash::load_tile(const Args& args, const Item& item, bool sinks, float* q) const {
  const size_t width = static_cast<size_t>(item.heads) * static_cast<size_t>(layout_.head_dim);
  const bool other = sinks && !item.span->kept;
  const size_t stride = other ? args.q_sink_stride : args.q_stride;
  const float* source = (other ? args.q_sink : args.q) +
                        static_cast<size_t>(item.span->row_begin + item.token) * stride +
                        static_cast<size_t>(item.head) * static_cast<size_t>(layout_.head_dim);
  AttnTile tile;
  tile.q = source;
  if (item.tokens > 1) {
    for (size_t t = 0; t < static_cast<size_t>(item.tokens); ++t) {
      std::memcpy(q + t * width, source + t * stride, width * sizeof(float));
    }
    tile.q = q;
  }
  tile.rows = item.rows();
  // All rows see all sinks, and no more: as if they stood at the last one.
  tile.group = sinks ? tile.rows : item.heads;
  tile.head_dim = layout_.head_dim;
  const kv::Layout& layout = args.pool->layout(args.layer);  // a layer may have types of its own
  tile.k_type = layout.k_type;
  tile.v_type = layout.v_type;
  tile.v_offset = layout.k_bytes();
  tile.first_pos = sinks ? item.span->sinks - 1 : item.span->first_pos + item.token;
  tile.window = sinks ? 0 : item.window;
  tile.c = exponent_scale(args.scale);
  return tile;
}

void Flash::split(const Args& args, const AttnTile& tile, const Item& item, int index, const AttnState& state,
                  std::byte* scratch) const {
  constexpr int kBlocks = kAttnSplit / kKvBlock;
  const int sink_splits = item.sink_splits();
  const bool sinks = index < sink_splits;
  const int64_t begin = sinks ? index * kAttnSplit : (item.first_split() + index - sink_splits) * kAttnSplit;
  const int64_t first_key = sinks ? 0 : item.first_key, end_key = sinks ? item.span->sinks : item.end_key;
  const std::byte* blocks[kBlocks] = {};
  for (int i = 0; i < kBlocks; ++i) {
    const int64_t pos = begin + i * kKvBlock;
    if (pos + kKvBlock <= first_key || pos >= end_key) continue;  // may not even have a block
    const int64_t block = pos / kKvBlock;
    blocks[i] =
        args.pool->head(args.layer, sinks ? item.span->sink_block(block) : item.span->block(block), item.kv_head);
  }
  kernels_.split(tile, begin, blocks, state, scratch);
}

void Flash::finish(const Args& args, const Item& item, const AttnState& state, int row, int rows) const {
  for (int r = 0; r < rows; ++r) {
    const size_t token = static_cast<size_t>(item.span->row_begin + item.token + (row + r) / item.heads);
    const size_t head = static_cast<size_t>(item.head + (row + r) % item.heads);
    kernels_.finish(state.o + static_cast<size_t>(r) * static_cast<size_t>(scratch_.o_stride()), state.l[r],
                    layout_.head_dim,
                    args.out + token * args.out_stride + head * static_cast<size_t>(layout_.head_dim));
  }
}

void Flash::run_items(Team& team, const Args& args, const Plan& plan) {
  const ThreadScratch& mine = scratch_.thread(team.rank());
  ItemCursor cursor(plan);
  team.parallel_for(plan.items, 1, [&](int64_t begin, int64_t) {
    cursor.move_to(begin);
    const Item item = cursor.item();
    const int sink_splits = item.sink_splits();
    AttnTile tile = load_tile(args, item, sink_splits > 0, mine.q);
    split(args, tile, item, 0, mine.running, mine.kernel);
    for (int i = 1; i < item.splits(); ++i) {
      if (i == sink_splits) tile = load_tile(args, item, false, mine.q);
      split(args, tile, item, i, mine.split, mine.kernel);
      kernels_.merge(mine.running, mine.split, tile.rows, layout_.head_dim, tile.c);
    }
    finish(args, item, mine.running, 0, tile.rows);
  });
}

void Flash::merge_piece(const Args& args, const Piece& piece, int row, int rows, int wave) const {
  const float c = exponent_scale(args.scale);
  const auto slot = [&](int i) { return scratch_.slot(piece.row + i * piece.item.rows() + row); };
  const AttnState into = piece.opens() ? slot(0) : scratch_.offset(scratch_.carry(wave - 1), row);
  for (int i = piece.opens() ? 1 : 0; i < piece.splits; ++i) {
    kernels_.merge(into, slot(i), rows, layout_.head_dim, c);
  }
  if (piece.closes()) {
    finish(args, piece.item, into, row, rows);
    return;
  }
  const AttnState carry = scratch_.offset(scratch_.carry(wave), row);
  const size_t n = static_cast<size_t>(rows);
  std::memcpy(carry.m, into.m, n * sizeof(float));
  std::memcpy(carry.l, into.l, n * sizeof(float));
  std::memcpy(carry.o, into.o, n * static_cast<size_t>(scratch_.o_stride()) * sizeof(float));
}

// Waves of split units, each followed by the merge of what it computed. All threads walk the same waves.
void Flash::run_units(Team& team, const Args& args, const Plan& plan) {
  const ThreadScratch& mine = scratch_.thread(team.rank());
  WaveWalk walk(plan, scratch_.slot_rows());
  for (int wave = 0; !walk.done(); ++wave) {
    walk.begin_wave();
    const WaveWalk start = walk;
    Piece piece;
    int64_t pieces = 0;
    bool merges = false;
    for (; walk.next(piece); ++pieces) merges |= piece.item.splits() > 1;

    WaveWalk units = start;
    piece.unit = piece.splits = 0;
    team.parallel_for(walk.units(), 1, [&](int64_t u, int64_t) {
      while (u >= piece.unit + piece.splits) units.next(piece);
      const int index = static_cast<int>(u - piece.unit);
      const AttnTile tile = load_tile(args, piece.item, piece.first + index < piece.item.sink_splits(), mine.q);
      const AttnState state = scratch_.slot(piece.row + index * tile.rows);
      split(args, tile, piece.item, piece.first + index, state, mine.kernel);
      if (piece.item.splits() == 1) finish(args, piece.item, state, 0, tile.rows);
    });
    if (!merges) continue;

    WaveWalk parts = start;
    int64_t at = -1;
    team.parallel_for(pieces * kMergeParts, 1, [&](int64_t p, int64_t) {
      for (; at < p / kMergeParts; ++at) parts.next(piece);
      const int row = static_cast<int>(p % kMergeParts) * kMergeRows;
      const int rows = std::min(kMergeRows, piece.item.rows() - row);
      if (rows > 0 && piece.item.splits() > 1) merge_piece(args, piece, row, rows, wave);
    });
  }
}

std::unique_ptr<Attention> make_flash(const kernels::AttnKernels& kernels, const kv::Layout& layout, int heads,
                                      int threads) {
  Result<FlashScratch> scratch = FlashScratch::create(layout.head_dim, threads);
  if (!scratch) return nullptr;
  return std::make_unique<Flash>(kernels, layout, heads, threads, std::move(*scratch));
}

}  // namespace toccata::attention
