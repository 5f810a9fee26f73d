#include "run_generate.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "interrupt.h"

namespace toccata::cli {
namespace {

constexpr int64_t kDraftRows = SpeculationParams::kMostTokens;

class Answer final : public RequestListener {
 public:
  Answer(const Listener& listener, Generation& g) : listener_(listener), g_(g) {}

  void on_tokens(std::vector<TokenOutput> tokens, std::string text) override {
    note_times(tokens.size());
    for (const TokenOutput& t : tokens) {
      g_.tokens.push_back(t.token);
      if (listener_.token) listener_.token(t);
    }
    if (text.empty() || !g_.output) return;
    g_.text += text;
    g_.output = listener_.text(text);
  }

  void on_finish(FinishReason why, const RequestReport& report) override {
    finished_ = true;
    reason_ = why;
    error_ = report.error;
    g_.cached_tokens = report.cached_tokens;
    g_.prompt_seconds = report.first_token_seconds > 0 ? report.first_token_seconds : report.total_seconds;
    g_.first_token_seconds = report.first_token_seconds;
    g_.drafts = report.drafts;
    g_.drafted_tokens = report.drafted_tokens;
    g_.accepted_tokens = report.accepted_tokens;
  }

  bool finished() const { return finished_; }
  FinishReason reason() const { return reason_; }
  const Error& error() const { return error_; }

 private:
  void note_times(size_t tokens) {
    if (tokens == 0) return;
    const double now = monotonic_seconds();
    if (last_ > 0) g_.gaps.insert(g_.gaps.end(), tokens, (now - last_) / static_cast<double>(tokens));
    last_ = now;
  }

  const Listener& listener_;
  Generation& g_;
  double last_ = 0;
  bool finished_ = false;
  FinishReason reason_ = FinishReason::kError;
  Error error_;
};

Finish finish_of(const Answer& answer, const Generation& g, const LoadedModel& model, int64_t most_tokens) {
  if (!g.output) return Finish::kOutputFailed;
  if (answer.reason() == FinishReason::kCancelled) return Finish::kInterrupted;
  if (answer.reason() != FinishReason::kLength) return Finish::kStop;
  const int64_t n = std::ssize(g.tokens);
  return n != most_tokens && g.prompt_tokens + n >= model.context ? Finish::kContextFull : Finish::kLength;
}

}  // namespace

LoadNeeds Generator::needs(const ModelOptions& model) {
  LoadNeeds needs;
  needs.most_rows = model.chunk + 1 + kDraftRows;
  needs.logit_rows = 1 + kDraftRows;
  return needs;
}

Result<Generator> Generator::create(const LoadedModel& model, Options options) {
  engine::Parts parts;
  parts.runner = model.runner;
  parts.tokenizer = model.tokenizer;
  parts.pool = model.pool;
  const model::ModelConfig& config = model.runner->config();
  // The context is what the options made of it, whatever the policy.
  parts.info = {config.name, config.architecture, model.context, model.vocab(), model.context, model.context, model.kv};
  parts.scheduler.max_sequences = 1;
  parts.scheduler.max_prompt_logit_rows = 0;
  parts.scheduler.max_draft_rows = kDraftRows;
  parts.scheduler.max_rows = options.chunk + 1 + kDraftRows;
  parts.scheduler.chunk_size = options.chunk;
  parts.drafters = spec::text_drafters(false);
  parts.drafters.model = std::move(options.draft_model);
  parts.speculation = options.speculation;
  parts.trace = std::move(options.trace);
  Result<std::unique_ptr<engine::Core>> core = engine::Core::create(std::move(parts));
  if (!core) return tl::unexpected(core.error());
  return Generator(model, std::move(options.sampling), std::move(*core));
}

Result<Generation> Generator::generate(std::span<const int32_t> prompt, const GenerateOptions& options,
                                       const Listener& listener) {
  Generation g;
  g.prompt_tokens = std::ssize(prompt);
  if (prompt.empty()) return fail(ErrorCode::kInvalidArgument, "the prompt is empty: there is nothing to continue");
  if (g.prompt_tokens >= model_->context) {
    return fail(ErrorCode::kInvalidArgument,
                "the prompt does not fit the context: n_prompt = " + std::to_string(g.prompt_tokens) +
                    ", n_ctx = " + std::to_string(model_->context) + " (raise it with -c)");
  }
  Request request;
  request.prompt.assign(prompt.begin(), prompt.end());
  request.sampling = sampling_;
  request.max_tokens = options.most_tokens;
  request.stop = options.stops;
  request.ignore_eos = options.ignore_end;
  if (Status s = core_->check(request); !s) return tl::unexpected(s.error());
  const auto answer = std::make_shared<Answer>(listener, g);
  const RequestId id = ++last_id_;
  core_->add(id, std::move(request), answer, core_->now());
  while (!answer->finished()) {
    if (interrupted() || !g.output) {
      core_->cancel(id);
    } else {
      core_->step();
    }
  }
  if (answer->reason() == FinishReason::kError) return tl::unexpected(answer->error());
  g.finish = finish_of(*answer, g, *model_, options.most_tokens);
  return g;
}

}  // namespace toccata::cli
