// From the file of a draft model to the drafter.
#pragma once

#include <memory>
#include <string>

#include "engine/model_drafter.h"
#include "text/tokenizer/tokenizer.h"

namespace toccata::engine {

struct DraftOptions {
  std::string draft, model;  // paths
  int64_t requests = 1;      // that draft at once
  model::RunnerOptions run;  // threads, types of the cache and progress count
};

// The draft model without its pool. Errors: as of ModelRunner::load; kInvalidArgument if its vocabulary is another one
// than the target's, which has logits for `vocab` tokens.
Result<DraftModel> load_draft(const DraftOptions& options, const Tokenizer& target, int64_t vocab);

// Bytes that a block of 32 tokens takes in the pool.
uint64_t draft_block_bytes(const DraftModel& model);

// With a pool of so many blocks, at most those of `requests` texts as long as the draft model's context.
Result<std::unique_ptr<spec::PacedDrafter>> start_draft(DraftModel model, int64_t blocks, int64_t requests);

}  // namespace toccata::engine
