#include "loaded_model.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "base/clock.h"
#include "engine/load_draft.h"
#include "kv/cache_types.h"

namespace toccata::cli {
namespace {

constexpr int64_t kDefaultContext = 8192;

// Redraws at most ten times a second, and not at all in the first second: small models should not flicker.
class ProgressBar {
 public:
  ProgressBar() : on_(isatty(STDERR_FILENO) == 1), start_(monotonic_seconds()) {}
  ~ProgressBar() {
    if (drawn_) std::fputs("\r\x1b[K", stderr);
  }
  void show(double share) {
    if (!on_) return;
    const std::lock_guard lock(mutex_);
    const double now = monotonic_seconds();
    if (now - start_ < 1.0 || now - last_ < 0.1) return;
    last_ = now;
    drawn_ = true;
    constexpr int kWidth = 40;
    const int filled = static_cast<int>(std::clamp(share, 0.0, 1.0) * kWidth);
    std::fprintf(stderr, "\rloading [%-*s] %3.0f %%", kWidth, std::string(static_cast<size_t>(filled), '#').c_str(),
                 share * 100);
    std::fflush(stderr);
  }

 private:
  const bool on_;
  const double start_;
  std::mutex mutex_;
  double last_ = 0;
  bool drawn_ = false;
};

Status open_file(const std::string& path, LoadedModel& m) {
  if (path.empty()) return fail(ErrorCode::kInvalidArgument, "no model given: use -m FILE");
  Result<std::shared_ptr<const gguf::File>> file = gguf::File::open(path);
  if (!file) return tl::unexpected(file.error());
  m.file = std::move(*file);
  return {};
}

Status add_tokenizer(LoadedModel& m) {
  Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::from_gguf(*m.file);
  if (!tokenizer) return tl::unexpected(tokenizer.error());
  m.tokenizer = std::move(*tokenizer);
  return {};
}

}  // namespace

Result<std::unique_ptr<LoadedModel>> load_text_side(const std::string& path) {
  auto m = std::make_unique<LoadedModel>();
  if (Status s = open_file(path, *m); !s) return tl::unexpected(s.error());
  if (Status s = add_tokenizer(*m); !s) return tl::unexpected(s.error());
  return m;
}

Result<std::unique_ptr<LoadedModel>> load_model(const ModelOptions& options, const LoadNeeds& needs) {
  const double start = monotonic_seconds();
  auto loaded = std::make_unique<LoadedModel>();
  LoadedModel& m = *loaded;
  if (Status s = open_file(options.path, m); !s) return tl::unexpected(s.error());
  // Before the tokenizer: of a model that cannot run, the architecture is what its user wants to know.
  Result<model::ModelConfig> config = model::read_config(*m.file);
  if (!config) return tl::unexpected(config.error());
  if (Status s = add_tokenizer(m); !s) return tl::unexpected(s.error());

  const Result<kv::CachePlan> plan = kv::make_plan(options.kv, model::kv_shape(*config));
  if (!plan) return tl::unexpected(plan.error());
  m.kv = options.kv;
  m.plan = *plan;
  m.context = needs.context > 0 ? needs.context : options.context;
  if (m.context == 0)
    m.context = m.plan.endless ? kv::kMostPositions : std::min(config->context_length, kDefaultContext);
  if (needs.context == 0 && m.context > config->context_length && !m.plan.endless) {
    std::fprintf(stderr, "toccata: the context of %lld tokens is longer than the model was made for (%lld)\n",
                 static_cast<long long>(m.context), static_cast<long long>(config->context_length));
  }

  ProgressBar bar;
  model::RunnerOptions run;
  run.threads = static_cast<int>(options.threads);
  run.max_rows = needs.most_rows > 0 ? needs.most_rows : std::min(options.chunk, m.context);
  run.max_logit_rows = std::min(needs.logit_rows, run.max_rows);
  run.attention = attention_method(options.attention);
  run.k_type = *kv::cache_type(options.k_type);  // one of the choices of add_cache_types()
  run.v_type = *kv::cache_type(options.v_type);
  run.f16_layers.assign(options.kv_skip_layers.begin(), options.kv_skip_layers.end());
  run.kv_rotation = *kv::rotation(options.kv_rotate);
  run.progress = [&bar](double share) { bar.show(share); };
  Result<std::unique_ptr<model::ModelRunner>> runner = model::ModelRunner::load(m.file, run);
  if (!runner) return tl::unexpected(runner.error());
  m.runner = std::move(*runner);
  m.threads = m.runner->options().threads;
  if (m.tokenizer->vocab_size() > m.vocab()) {
    return fail(ErrorCode::kInvalidFile, "'" + options.path + "': the tokenizer has " +
                                             std::to_string(m.tokenizer->vocab_size()) +
                                             " tokens, but the output layer only " + std::to_string(m.vocab()));
  }
  const int64_t blocks = m.plan.blocks(m.context) * needs.sequences;
  Result<kv::Pool> pool = kv::Pool::create(m.runner->kv_layout(), blocks);
  if (!pool) {
    return fail(pool.error().code,
                "no KV cache of " + std::to_string(blocks * kernels::kKvBlock) + " tokens: " + pool.error().message);
  }
  m.pool = std::make_shared<kv::Pool>(std::move(*pool));
  m.load_seconds = monotonic_seconds() - start;
  return loaded;
}

Result<std::unique_ptr<spec::PacedDrafter>> load_draft(const std::string& path, const ModelOptions& options,
                                                       const LoadedModel& model) {
  ProgressBar bar;
  model::RunnerOptions run = model.runner->options();
  run.progress = [&bar](double share) { bar.show(share); };
  Result<engine::DraftModel> draft =
      engine::load_draft({path, options.path, 1, std::move(run)}, *model.tokenizer, model.vocab());
  if (!draft) return tl::unexpected(draft.error());
  constexpr int64_t kBlock = kernels::kKvBlock;
  const int64_t longest = std::min(model.context, draft->runner->config().context_length);
  return engine::start_draft(std::move(*draft), (longest + kBlock - 1) / kBlock + 1, 1);
}

int report(const char* command, const Error& error) {
  // Messages may quote outside text, such as a path with a newline: one fault is one line.
  std::fprintf(stderr, "toccata %s: %s\n", command, one_line(error.message).c_str());
  return 1;
}

}  // namespace toccata::cli
