// The flash method (attention/flash.cc), and what it does where attention is added up (attention/flash_scored.cc).
#pragma once

#include <vector>

#include "attention/methods.h"
#include "attention/pieces.h"
#include "attention/plan.h"
#include "attention/scratch.h"
#include "attention/waves.h"

namespace toccata::attention {

// Rows that one thread merges at a time.
inline constexpr int kMergeRows = 16;
inline constexpr int kMergeParts = kernels::kAttnRows / kMergeRows;

class Flash final : public Attention {
 public:
  Flash(const kernels::AttnKernels& kernels, const kv::Layout& layout, int heads, int threads, FlashScratch scratch);
  void run(Team& team, const Args& args) override;
  size_t scratch_bytes() const override {  // without what is never touched unless a policy ranks
    return scratch_.bytes() - scratch_.weight_floats() * sizeof(float);
  }

 private:
  using AttnState = kernels::AttnState;
  using AttnTile = kernels::AttnTile;

  void run_spans(Team& team, const Args& args, std::span<const Span> spans);
  void run_items(Team& team, const Args& args, const Plan& plan);
  void run_units(Team& team, const Args& args, const Plan& plan);
  // The rows of an item as a tile; `sinks`: with the queries and the view that they have of the sinks.
  AttnTile load_tile(const Args& args, const Item& item, bool sinks, float* q) const;
  void split(const Args& args, const AttnTile& tile, const Item& item, int index, const AttnState& state,
             std::byte* scratch) const;
  void merge_piece(const Args& args, const Piece& piece, int row, int rows, int wave) const;
  // Rows [row, row + rows) of an item; `state` begins at `row`.
  void finish(const Args& args, const Item& item, const AttnState& state, int row, int rows) const;

  // By rank. A job is a tile of queries of one span and KV head; its splits have their states and their weights side by
  // side in the scratch, because only the merged state tells what the weights are worth.
  struct Job {
    Item item;
    int64_t unit = 0;  // index of its first split within the batch
    size_t place = 0;  // of its first split in the scratch, in floats
  };
  // One thread's view of a batch of jobs, all threads with the same contents.
  struct Batch {
    std::vector<Job> jobs;
    int64_t units = 0;
    const Job& of_unit(int64_t unit) const;
  };
  struct SplitMemory {
    AttnState state;
    float* p;
    float* p_max;
  };
  void evict(Team& team, const Args& args, std::span<const Pieces::Eviction> evictions);
  void run_scored(Team& team, const Args& args, std::span<const Span> spans);
  void run_batch(Team& team, const Args& args, const Batch& batch);
  int tokens_per_job(const Span& span) const;
  size_t split_floats(int rows) const;
  SplitMemory split_memory(const Job& job, int split) const;
  void add_columns(const Args& args, const Job& job, int split, float* scratch) const;

  const kernels::AttnKernels& kernels_;
  const kv::Layout layout_;
  const int group_;  // query heads per KV head
  const int threads_;
  FlashScratch scratch_;
  // One per thread.
  std::vector<Pieces> pieces_;
  std::vector<Batch> batches_;
  std::vector<kv::EvictionScratch> evictions_;
};

}  // namespace toccata::attention
