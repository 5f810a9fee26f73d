#include "engine/load_draft.h"

#include <algorithm>
#include <utility>

#include "text/tokenizer/same_vocabulary.h"

namespace toccata::engine {
namespace {

constexpr int64_t kMostRead = 256;  // tokens of texts in one step

}  // namespace

Result<DraftModel> load_draft(const DraftOptions& o, const Tokenizer& target, int64_t vocab) {
  Result<std::shared_ptr<const gguf::File>> file = gguf::File::open(o.draft);
  if (!file) return tl::unexpected(file.error());
  const Result<model::ModelConfig> config = model::read_config(**file);
  if (!config) return tl::unexpected(config.error());
  const Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::from_gguf(**file);
  if (!tokenizer) return tl::unexpected(tokenizer.error());
  if (Status s = check_same_vocabulary(target, o.model, **tokenizer, o.draft); !s) return tl::unexpected(s.error());
  model::RunnerOptions run = o.run;
  run.f16_layers.clear();  // the numbers are those of the target's layers
  run.max_logit_rows = o.requests;
  run.max_rows = std::max(kMostRead, o.requests);
  Result<std::unique_ptr<model::ModelRunner>> runner = model::ModelRunner::load(*file, run);
  if (!runner) return tl::unexpected(runner.error());
  DraftModel model;
  model.vocab = std::min(vocab, (*runner)->config().vocab);
  model.runner = std::move(*runner);
  return model;
}

uint64_t draft_block_bytes(const DraftModel& model) { return model.runner->kv_layout().pool_block_bytes(); }

Result<std::unique_ptr<spec::PacedDrafter>> start_draft(DraftModel model, int64_t blocks, int64_t requests) {
  const int64_t longest = (model.runner->config().context_length + kernels::kKvBlock - 1) / kernels::kKvBlock;
  Result<kv::Pool> pool =
      kv::Pool::create(model.runner->kv_layout(), std::min(blocks, (longest + 1) * std::max<int64_t>(1, requests)));
  if (!pool) return tl::unexpected(pool.error());
  model.pool = std::make_shared<kv::Pool>(std::move(*pool));
  Result<std::unique_ptr<ModelDrafter>> drafter = ModelDrafter::create(std::move(model));
  if (!drafter) return tl::unexpected(drafter.error());
  (*drafter)->calibrate(requests);
  return std::move(*drafter);
}

}  // namespace toccata::engine
