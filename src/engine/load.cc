// Engine::start: from options to a running engine.
#include <algorithm>
#include <string>

#include "base/memory_info.h"
#include "engine/core.h"
#include "engine/load_draft.h"
#include "engine/threaded_engine.h"
#include "kv/cache_types.h"
#include "toccata/engine.h"

namespace toccata {
namespace {

constexpr int64_t kBlock = kv::PrefixCache::kBlock;
constexpr int64_t kMostChunk = 512;
constexpr int64_t kPromptLogitRows = 64;
constexpr int64_t kDraftRows = 64;  // of a step: beyond, rows cost as much as they bring

Status check(const EngineOptions& o) {
  const auto refuse = [](std::string what) { return fail(ErrorCode::kInvalidArgument, std::move(what)); };
  if (o.threads < 0 || o.threads > 1024) return refuse("threads must be 0 to 1024");
  if (o.context < 0) return refuse("the context must be 0 or more tokens");
  if (o.max_sequences < 1 || o.max_sequences > 4096) return refuse("max_sequences must be 1 to 4096");
  if (o.max_waiting < 1) return refuse("max_waiting must be 1 or more");
  if (o.max_waiting_tokens < 1) return refuse("max_waiting_tokens must be 1 or more");
  if (o.chunk_size < 0 || o.chunk_size > 65536) return refuse("the chunk size must be 0 to 65536");
  if (o.attention != "flash" && o.attention != "naive") return refuse("attention must be flash or naive");
  if (!(o.itl_target_ms >= 0 && o.itl_target_ms <= 1e6)) return refuse("the ITL target must be 0 to 1000000 ms");
  if (o.draft_model.empty() && o.speculation.method == SpecMethod::kModel) {
    return refuse("speculation by a model needs a draft model");
  }
  return o.speculation.validate();
}

Result<DType> cache_type(const std::string& name, const char* which) {
  if (const std::optional<DType> type = kv::cache_type(name)) return *type;
  return fail(ErrorCode::kInvalidArgument,
              std::string("the ") + which + " cache cannot be '" + name + "'; use one of " + kv::cache_type_names());
}

// Blocks of the pool and of the draft model's pool, and the context that follows where the options leave it open. plan:
// of requests without a policy.
Result<int64_t> pool_blocks(const EngineOptions& o, const kv::Layout& layout, int64_t model_context,
                            const kv::CachePlan& plan, uint64_t draft_bytes, int64_t& context) {
  // Each block with one of the draft model's.
  const uint64_t block_bytes = layout.pool_block_bytes() + draft_bytes;
  const uint64_t memory = o.kv_memory > 0 ? o.kv_memory : available_memory() / 2;
  const int64_t wanted = o.context > 0 ? o.context : model_context;
  const int64_t longest = plan.endless && o.context == 0 ? kv::kMostPositions : wanted;
  // One more block each, for a copy of a shared one.
  const int64_t most = (plan.blocks(longest) + (plan.evicts() ? 1 : 0)) * o.max_sequences;
  const int64_t blocks = static_cast<int64_t>(std::min<uint64_t>(memory / block_bytes, static_cast<uint64_t>(most)));
  if (blocks < 1) {
    return fail(ErrorCode::kInvalidArgument, "a KV cache of " + std::to_string(memory) +
                                                 " bytes holds no block of 32 tokens (" + std::to_string(block_bytes) +
                                                 " bytes); give it more memory");
  }
  if (plan.evicts() && plan.blocks(longest) > blocks) {
    return fail(ErrorCode::kInvalidArgument, "a KV cache of " + std::to_string(memory) + " bytes holds " +
                                                 std::to_string(blocks * kBlock) +
                                                 " tokens, less than the KV budget of " + std::to_string(plan.budget) +
                                                 " takes; lower one or raise the other");
  }
  if (!plan.evicts() && o.context > blocks * kBlock) {
    return fail(ErrorCode::kInvalidArgument, "a KV cache of " + std::to_string(memory) + " bytes holds " +
                                                 std::to_string(blocks * kBlock) +
                                                 " tokens, less than the context of " + std::to_string(o.context) +
                                                 "; lower one or raise the other");
  }
  context = std::min(wanted, blocks * kBlock);
  return blocks;
}

// The draft model of the options, if there is one.
Result<std::optional<engine::DraftModel>> load_draft(const EngineOptions& o, const model::RunnerOptions& run,
                                                     const Tokenizer& tokenizer, int64_t vocab) {
  if (o.draft_model.empty()) return std::nullopt;
  Result<engine::DraftModel> draft =
      engine::load_draft({o.draft_model, o.model, o.max_sequences, run}, tokenizer, vocab);
  if (!draft) return tl::unexpected(draft.error());
  return std::move(*draft);
}

// Makes the pools: the model's, and the draft model's for its drafter.
Status add_pools(const EngineOptions& o, int64_t blocks, std::optional<engine::DraftModel> draft,
                 engine::Parts& parts) {
  Result<kv::Pool> pool = kv::Pool::create(parts.runner->kv_layout(), blocks);
  if (!pool) return tl::unexpected(pool.error());
  parts.pool = std::make_unique<kv::Pool>(std::move(*pool));
  if (!draft) return {};
  Result<std::unique_ptr<spec::PacedDrafter>> drafter = engine::start_draft(std::move(*draft), blocks, o.max_sequences);
  if (!drafter) return tl::unexpected(drafter.error());
  parts.drafters.model = std::move(*drafter);
  return {};
}

Result<engine::Parts> load(const EngineOptions& o) {
  if (o.model.empty()) return fail(ErrorCode::kInvalidArgument, "no model file given");
  Result<std::shared_ptr<const gguf::File>> file = gguf::File::open(o.model);
  if (!file) return tl::unexpected(file.error());
  Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::from_gguf(**file);
  if (!tokenizer) return tl::unexpected(tokenizer.error());
  const Result<DType> k_type = cache_type(o.cache_type_k, "K"), v_type = cache_type(o.cache_type_v, "V");
  if (!k_type) return tl::unexpected(k_type.error());
  if (!v_type) return tl::unexpected(v_type.error());
  const std::optional<kv::Rotation> rotation = kv::rotation(o.kv_rotate);
  if (!rotation) {
    return fail(ErrorCode::kInvalidArgument, "kv_rotate cannot be '" + o.kv_rotate + "'; use auto, on or off");
  }

  engine::Parts parts;
  parts.scheduler.max_sequences = o.max_sequences;
  parts.scheduler.max_draft_rows = kDraftRows;
  parts.scheduler.max_rows = o.max_sequences + kDraftRows + std::max(kMostChunk, o.chunk_size);
  parts.scheduler.max_prompt_logit_rows = kPromptLogitRows;
  parts.scheduler.chunked = o.chunked_prefill;
  parts.scheduler.chunk_size = o.chunk_size;
  parts.scheduler.itl_target = o.itl_target_ms * 1e-3;
  parts.prefix_caching = o.prefix_caching;
  parts.drafters = spec::text_drafters(o.shared_spec_corpus);
  parts.speculation = o.speculation;
  parts.trace = o.trace;

  model::RunnerOptions run;
  run.threads = o.threads;
  run.max_rows = parts.scheduler.max_rows;
  run.max_logit_rows = o.max_sequences + kDraftRows + kPromptLogitRows;
  run.attention = o.attention == "naive" ? attention::Method::kNaive : attention::Method::kFlash;
  run.kv_rotation = *rotation;
  run.f16_layers = o.kv_skip_layers;
  run.k_type = *k_type;
  run.v_type = *v_type;
  Result<std::unique_ptr<model::ModelRunner>> runner = model::ModelRunner::load(*file, run);
  if (!runner) return tl::unexpected(runner.error());
  const model::ModelConfig& config = (*runner)->config();
  if ((*tokenizer)->vocab_size() > config.vocab) {
    return fail(ErrorCode::kInvalidFile, "'" + o.model + "': the tokenizer has " +
                                             std::to_string((*tokenizer)->vocab_size()) +
                                             " tokens, but the output layer only " + std::to_string(config.vocab));
  }
  parts.info = {config.name, config.architecture, 0, static_cast<int32_t>(config.vocab), 0, 0, o.kv};
  parts.info.bounded_context = o.context > 0 ? o.context : config.context_length;
  parts.info.endless_context = o.context > 0 ? o.context : kv::kMostPositions;
  const Result<kv::CachePlan> plan = kv::make_plan(o.kv, model::kv_shape(config));
  if (!plan) return tl::unexpected(plan.error());
  if (Status s = model::check_plan(config, run, *plan); !s) return tl::unexpected(s.error());
  Result<std::optional<engine::DraftModel>> draft = load_draft(o, run, **tokenizer, config.vocab);
  if (!draft) return tl::unexpected(draft.error());
  const Result<int64_t> blocks = pool_blocks(o, (*runner)->kv_layout(), config.context_length, *plan,
                                             *draft ? engine::draft_block_bytes(**draft) : 0, parts.info.context);
  if (!blocks) return tl::unexpected(blocks.error());
  parts.runner = std::move(*runner);
  if (Status s = add_pools(o, *blocks, std::move(*draft), parts); !s) return tl::unexpected(s.error());
  parts.tokenizer = std::move(*tokenizer);
  return parts;
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::start(const EngineOptions& options) {
  if (Status s = check(options); !s) return tl::unexpected(s.error());
  Result<engine::Parts> parts = load(options);
  if (!parts) return tl::unexpected(parts.error());
  Result<std::unique_ptr<engine::Core>> core = engine::Core::create(std::move(*parts));
  if (!core) return tl::unexpected(core.error());
  (*core)->calibrate();
  return engine::start_engine(std::move(*core), {options.max_waiting, options.max_waiting_tokens});
}

}  // namespace toccata
