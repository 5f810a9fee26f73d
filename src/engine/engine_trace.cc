#include "engine/engine_trace.h"

#include <utility>

#include "base/clock.h"

namespace toccata::engine {
namespace {

constexpr int kSteps = 1, kPhases = 2;  // tracks

const char* name_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kTimeout:
      return "timeout";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      break;
  }
  return "error";
}

class TracedRunner final : public model::ModelRunner {
 public:
  TracedRunner(std::shared_ptr<model::ModelRunner> runner, std::shared_ptr<TraceFile> file)
      : runner_(std::move(runner)), trace_(std::move(file), runner_->config().name) {}

  const model::ModelConfig& config() const override { return runner_->config(); }
  const model::RunnerOptions& options() const override { return runner_->options(); }
  kv::Layout kv_layout() const override { return runner_->kv_layout(); }
  size_t weight_bytes() const override { return runner_->weight_bytes(); }
  uint64_t matmul_parameters() const override { return runner_->matmul_parameters(); }
  std::string_view isa() const override { return runner_->isa(); }
  size_t logit_stride() const override { return runner_->logit_stride(); }
  ThreadPool* threads() override { return runner_->threads(); }

  Status forward(const model::Step& step, kv::Pool& pool, float* logits) override {
    StepMarks marks;
    model::Step timed = step;
    timed.phases = &marks.phases;
    marks.planned = marks.forward = monotonic_seconds();
    const Status done = runner_->forward(timed, pool, logits);
    marks.computed = marks.drawn = monotonic_seconds();
    StepRecord record{++steps_, marks.forward, marks.computed - marks.forward, 0, 0, 0, 0};
    for (const model::SpanInput& s : step.spans) {
      const int64_t tokens = std::ssize(s.tokens);
      if (s.logits_from == 0) {
        ++record.decodes;
        record.drafted_tokens += tokens - 1;
      } else {
        record.prefill_tokens += tokens;
      }
    }
    if (done) trace_.step(record, marks, 0, {});
    return done;
  }

 private:
  const std::shared_ptr<model::ModelRunner> runner_;
  EngineTrace trace_;
  uint64_t steps_ = 0;
};

}  // namespace

EngineTrace::EngineTrace(std::shared_ptr<TraceFile> file, std::string_view model) : file_(std::move(file)) {
  file_->name_process("toccata: " + std::string(model));
  file_->name_track(kSteps, "steps");
  file_->name_track(kPhases, "model, by phase (sums over the layers)");
}

void EngineTrace::phases(const StepMarks& marks) {
  double at = marks.forward;
  const auto phase = [this, &at](const char* name, double seconds) {
    if (seconds > 0) file_->slice(kPhases, name, at, at + seconds);
    at += seconds;
  };
  phase("embed", marks.phases.embed);
  phase("qkv", marks.phases.qkv);
  phase("attention", marks.phases.attention);
  phase("output", marks.phases.output);
  phase("ffn", marks.phases.ffn);
  phase("logits", marks.phases.logits);
}

void EngineTrace::step(const StepRecord& r, const StepMarks& marks, double drafting_seconds, const EngineStats& stats) {
  const double end = r.start + r.seconds;
  file_->slice(kSteps, "step", r.start, end,
               {{"number", static_cast<int64_t>(r.number)},
                {"decode", r.decodes},
                {"prefill", r.prefill_tokens},
                {"drafted", r.drafted_tokens},
                {"accepted", r.accepted_tokens},
                {"predicted_ms", stats.last_step_predicted_seconds * 1e3},
                {"actual_ms", r.seconds * 1e3}});
  const auto part = [this](const char* name, double begin, double until) {
    if (until > begin) file_->slice(kSteps, name, begin, until);
  };
  const double drafted = r.start + drafting_seconds;
  part("draft", r.start, drafted);
  part("plan", drafted, marks.planned);
  part("build", marks.planned, marks.forward);
  part("forward", marks.forward, marks.computed);
  part("draw", marks.computed, marks.drawn);
  part("deliver", marks.drawn, end);
  phases(marks);
  if (stats.kv_blocks == 0) return;
  file_->counter("requests", end, {{"running", stats.running}, {"waiting", stats.waiting}});
  file_->counter("KV blocks", end, {{"used", stats.kv_blocks_used}, {"cached", stats.kv_blocks_cached}});
}

void EngineTrace::request(const Sequence& s, FinishReason reason, double now) {
  constexpr std::string_view kCategory = "request";
  const RequestReport& r = s.report;
  const std::string name = "request " + std::to_string(s.id);
  const double submitted = now - r.total_seconds;
  const double admitted = s.started() ? submitted + r.queue_seconds : now;
  const double answered = r.first_token_seconds > 0 ? submitted + r.first_token_seconds : now;
  const auto station = [&](const char* what, double begin, double end) {
    file_->begin(kCategory, s.id, what, begin);
    file_->end(kCategory, s.id, what, end);
  };
  file_->begin(kCategory, s.id, name, submitted,
               {{"finish", name_of(reason)},
                {"prompt_tokens", r.prompt_tokens},
                {"cached_tokens", r.cached_tokens},
                {"generated_tokens", r.generated_tokens},
                {"drafted_tokens", r.drafted_tokens},
                {"accepted_tokens", r.accepted_tokens},
                {"preemptions", int64_t{r.preemptions}}});
  station("queued", submitted, admitted);
  if (s.started()) station("prefill", admitted, answered);
  if (r.first_token_seconds > 0) station("decode", answered, now);
  if (r.error.message.empty())
    file_->end(kCategory, s.id, name, now);
  else
    file_->end(kCategory, s.id, name, now, {{"error", std::string_view(r.error.message)}});
}

std::shared_ptr<model::ModelRunner> traced(std::shared_ptr<model::ModelRunner> runner,
                                           std::shared_ptr<TraceFile> file) {
  return std::make_shared<TracedRunner>(std::move(runner), std::move(file));
}

}  // namespace toccata::engine
