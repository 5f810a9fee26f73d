// What steps of a model cost on this machine, over the range that a scheduler plans in.
#include <algorithm>

#include "base/clock.h"
#include "loaded_model.h"
#include "simulate.h"

namespace toccata::cli {
namespace {

constexpr int64_t kChunk = 512;
constexpr int64_t kContexts[] = {0, 1024, 3584};  // keys before the tokens
constexpr int64_t kPrefills[] = {0, 16, 64, 256, kChunk};
constexpr double kSeconds = 20;  // no further step begins after this time

// A step of made-up tokens behind made-up keys. Decodes write to blocks of their own and read the same keys.
class StepTimer {
 public:
  StepTimer(LoadedModel& m, int64_t decodes, int64_t deepest) : m_(m), tokens_(kChunk, 0) {
    const int64_t blocks = deepest / kernels::kKvBlock + kChunk / kernels::kKvBlock + decodes;
    while (std::ssize(blocks_) < blocks) blocks_.push_back(*m.pool->allocate());
  }

  Status run(int64_t context, int64_t prefill, int64_t decodes, float* logits, sched::CostModel& model) {
    std::vector<std::vector<kv::BlockId>> tables(static_cast<size_t>(decodes) + 1);
    std::vector<model::SpanInput> spans;
    sched::StepShape shape;
    const auto shared = blocks_.begin() + static_cast<std::ptrdiff_t>(context / kernels::kKvBlock);
    auto own = blocks_.end();
    for (int64_t i = 0; i < decodes; ++i) {
      std::vector<kv::BlockId>& table = tables[static_cast<size_t>(i)];
      table.assign(blocks_.begin(), shared);
      table.push_back(*--own);
      spans.push_back({table.data(), context, std::span(tokens_).first(1), 0});
      shape.add_decode(context);
    }
    if (prefill > 0) {
      tables.back().assign(blocks_.begin(), shared + kChunk / kernels::kKvBlock);
      spans.push_back({tables.back().data(), context, std::span(tokens_).first(static_cast<size_t>(prefill)), -1});
      shape.add_prefill(context, prefill);
    }
    const double begin = monotonic_seconds();
    if (Status s = m_.runner->forward({spans}, *m_.pool, logits); !s) return s;
    model.observe(shape, monotonic_seconds() - begin);
    return {};
  }

 private:
  LoadedModel& m_;
  std::vector<kv::BlockId> blocks_;
  std::vector<int32_t> tokens_;
};

}  // namespace

Result<sim::StepCost> measure_costs(const ModelOptions& options, int64_t decodes) {
  decodes = std::clamp<int64_t>(decodes, 1, 32);
  const Result<std::unique_ptr<LoadedModel>> text = load_text_side(options.path);
  if (!text) return tl::unexpected(text.error());
  const Result<model::ModelConfig> config = model::read_config(*(*text)->file);
  if (!config) return tl::unexpected(config.error());
  LoadNeeds needs;
  needs.context = std::max<int64_t>(config->context_length, kContexts[2] + kChunk);
  needs.context = std::min<int64_t>(needs.context, kContexts[2] + kChunk + decodes * kernels::kKvBlock);
  needs.context += decodes * kernels::kKvBlock;
  needs.logit_rows = decodes;
  needs.most_rows = kChunk + decodes;
  const Result<std::unique_ptr<LoadedModel>> loaded = load_model(options, needs);
  if (!loaded) return tl::unexpected(loaded.error());
  LoadedModel& m = **loaded;
  const size_t stride = m.runner->logit_stride();
  std::vector<float> logits(static_cast<size_t>(decodes) * stride);
  StepTimer timer(m, decodes, kContexts[2]);
  sched::CostModel model, warm_up;
  if (Status s = timer.run(0, kChunk, decodes, logits.data(), warm_up); !s) return tl::unexpected(s.error());
  const double begin = monotonic_seconds();
  for (int round = 0; round < 3; ++round) {
    for (const int64_t context : kContexts) {
      for (const int64_t prefill : kPrefills) {
        for (const int64_t running : {int64_t{0}, int64_t{1}, decodes}) {
          if (prefill + running == 0 || monotonic_seconds() - begin > kSeconds) continue;
          if (Status s = timer.run(context, prefill, running, logits.data(), model); !s)
            return tl::unexpected(s.error());
        }
      }
    }
  }
  return sim::StepCost::of(model);
}

}  // namespace toccata::cli
