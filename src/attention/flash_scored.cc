// Attention under a policy by rank: what flash.cc computes, with the same bits, and beside it the attention that each
// key gets, summed over the queries.
//
// The weights of a tile of keys are relative to the largest score so far; what they are worth is known when all splits
// of the query are merged. So a tile of queries is worked on in three steps: all its splits, each of which leaves its
// weights; the merge, which gives the output; the sums over queries, each key's in the order of the queries. Every
// key's sum is one chain from the first query of the sequence to the last, so no cut changes a bit of it.
#include <algorithm>

#include "attention/flash.h"
#include "base/check.h"

namespace toccata::attention {

using kernels::AttnState;
using kernels::AttnTile;
using kernels::kAttnRows;
using kernels::kAttnSplit;
using kernels::kAttnTile;
using kernels::kKvBlock;

namespace {

constexpr int kTiles = kAttnSplit / kAttnTile;

size_t padded(size_t floats) { return (floats + 15) / 16 * 16; }

}  // namespace

void Flash::evict(Team& team, const Args& args, std::span<const Pieces::Eviction> evictions) {
  const int64_t heads = layout_.kv_heads;
  team.parallel_for(std::ssize(evictions) * heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Pieces::Eviction& e = evictions[static_cast<size_t>(i / heads)];
      kv::evict(*e.span->plan, *e.span->state, *args.pool, args.layer, static_cast<int>(i % heads), e.span->blocks,
                e.at, evictions_[static_cast<size_t>(team.rank())]);
    }
  });
}

// Of one split of `rows` queries: m, l, O, the weights, and the maxima they are relative to.
size_t Flash::split_floats(int rows) const {
  const size_t n = static_cast<size_t>(rows);
  return 2 * padded(n) + padded(n * static_cast<size_t>(scratch_.o_stride())) + n * kAttnSplit + padded(n * kTiles);
}

Flash::SplitMemory Flash::split_memory(const Job& job, int split) const {
  const size_t n = static_cast<size_t>(job.item.rows());
  float* at = scratch_.weights() + job.place + static_cast<size_t>(split) * split_floats(job.item.rows());
  SplitMemory memory;
  memory.state.m = at;
  memory.state.l = at += padded(n);
  memory.state.o = at += padded(n);
  memory.p = at += padded(n * static_cast<size_t>(scratch_.o_stride()));
  memory.p_max = at + n * kAttnSplit;
  return memory;
}

const Flash::Job& Flash::Batch::of_unit(int64_t unit) const {
  const auto after =
      std::upper_bound(jobs.begin(), jobs.end(), unit, [](int64_t u, const Job& j) { return u < j.unit; });
  return *(after - 1);
}

// As many as fill a tile, and fit the scratch for all KV heads at once.
int Flash::tokens_per_job(const Span& span) const {
  Item whole;
  whole.span = &span;
  whole.end_key = span.first_pos + span.tokens;
  const size_t one = split_floats(group_) * static_cast<size_t>(whole.splits());
  TOCCATA_CHECK(one <= scratch_.weight_floats());
  const size_t fit = scratch_.weight_floats() / one / static_cast<size_t>(layout_.kv_heads);
  return static_cast<int>(std::clamp<size_t>(fit, 1, static_cast<size_t>(kAttnRows / group_)));
}

void Flash::run_scored(Team& team, const Args& args, std::span<const Span> spans) {
  Batch& batch = batches_[static_cast<size_t>(team.rank())];
  batch.jobs.clear();
  batch.units = 0;
  size_t used = 0;
  const auto flush = [&] {
    if (!batch.jobs.empty()) run_batch(team, args, batch);
    batch.jobs.clear();
    batch.units = 0;
    used = 0;
  };
  // The n-th tile of every span, then the next one: a key's sum grows query by query.
  bool more = true;
  for (int64_t n = 0; more; ++n) {
    more = false;
    for (const Span& span : spans) {
      const int64_t tokens = tokens_per_job(span), begin = n * tokens;
      if (begin >= span.tokens) continue;
      more = true;
      for (int head = 0; head < layout_.kv_heads; ++head) {
        Job job;
        job.item = {&span,
                    head,
                    head * group_,
                    group_,
                    static_cast<int32_t>(begin),
                    static_cast<int32_t>(std::min(tokens, span.tokens - begin)),
                    0,
                    0,
                    0};
        job.item.end_key = span.first_pos + begin + job.item.tokens;
        const size_t floats = split_floats(job.item.rows()) * static_cast<size_t>(job.item.splits());
        if (used + floats > scratch_.weight_floats()) flush();
        job.place = used;
        job.unit = batch.units;
        used += floats;
        batch.units += job.item.splits();
        batch.jobs.push_back(job);
      }
    }
    flush();
  }
}

void Flash::run_batch(Team& team, const Args& args, const Batch& batch) {
  const ThreadScratch& mine = scratch_.thread(team.rank());
  team.parallel_for(batch.units, 1, [&](int64_t u, int64_t) {
    const Job& job = batch.of_unit(u);
    const int index = static_cast<int>(u - job.unit);
    const SplitMemory memory = split_memory(job, index);
    AttnTile tile = load_tile(args, job.item, index < job.item.sink_splits(), mine.q);
    tile.p = memory.p;
    tile.p_max = memory.p_max;
    split(args, tile, job.item, index, memory.state, mine.kernel);
  });
  team.parallel_for(std::ssize(batch.jobs) * kMergeParts, 1, [&](int64_t p, int64_t) {
    const Job& job = batch.jobs[static_cast<size_t>(p / kMergeParts)];
    const int row = static_cast<int>(p % kMergeParts) * kMergeRows;
    const int rows = std::min(kMergeRows, job.item.rows() - row);
    if (rows <= 0) return;
    const AttnState into = scratch_.offset(split_memory(job, 0).state, row);
    for (int i = 1; i < job.item.splits(); ++i) {
      kernels_.merge(into, scratch_.offset(split_memory(job, i).state, row), rows, layout_.head_dim,
                     exponent_scale(args.scale));
    }
    finish(args, job.item, into, row, rows);
  });
  team.parallel_for(batch.units, 1, [&](int64_t u, int64_t) {
    const Job& job = batch.of_unit(u);
    add_columns(args, job, static_cast<int>(u - job.unit), mine.running.m);
  });
}

// `scratch`: kAttnRows floats.
void Flash::add_columns(const Args& args, const Job& job, int split, float* scratch) const {
  const Span& span = *job.item.span;
  const int sink_splits = job.item.sink_splits();
  const bool kept = split < sink_splits;
  const SplitMemory memory = split_memory(job, split);
  const AttnState merged = split_memory(job, 0).state;
  AttnTile tile;
  tile.rows = job.item.rows();
  tile.c = exponent_scale(args.scale);
  tile.p = memory.p;
  tile.p_max = memory.p_max;
  const int64_t begin = static_cast<int64_t>(kept ? split : split - sink_splits) * kAttnSplit;
  const int64_t end = kept ? span.sinks : job.item.end_key;
  const int64_t blocks_end = (end + kKvBlock - 1) / kKvBlock * kKvBlock;  // what lies behind may be others' slots
  float* sums = span.state->attention(args.layer, job.item.kv_head) + (kept ? 0 : span.slot) + begin;
  for (int t = 0; t < kTiles && begin + t * kAttnTile < end; ++t) {
    const int64_t keys = std::min<int64_t>(kAttnTile, blocks_end - begin - t * kAttnTile);
    kernels_.columns(tile, t, merged.m, merged.l, static_cast<int>(keys), scratch, sums + t * kAttnTile);
  }
}

}  // namespace toccata::attention
