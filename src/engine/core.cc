#include "engine/core.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "engine/calibrate.h"
#include "engine/draw_rows.h"
#include "sampling/candidates.h"
#include "spec/verify.h"

namespace toccata::engine {

Core::Core(Parts parts)
    : parts_(std::move(parts)),
      memory_(*parts_.pool, parts_.prefix_caching),
      scheduler_(parts_.scheduler, memory_),
      drafting_(std::move(parts_.drafters), parts_.speculation) {
  if (!parts_.clock) parts_.clock = monotonic_seconds;
  if (parts_.trace) trace_.emplace(parts_.trace, parts_.info.name);
}

Result<std::unique_ptr<Core>> Core::create(Parts parts) {
  TOCCATA_CHECK(parts.runner->options().max_rows >= parts.scheduler.max_rows);
  std::unique_ptr<Core> core(new Core(std::move(parts)));
  const model::ModelRunner& runner = *core->parts_.runner;
  const size_t rows = static_cast<size_t>(runner.options().max_logit_rows);
  Result<AlignedBuffer> logits = AlignedBuffer::allocate(rows * runner.logit_stride() * sizeof(float));
  if (!logits) return tl::unexpected(logits.error());
  core->logits_ = std::move(*logits);
  ThreadPool* threads = core->parts_.runner->threads();
  core->scratch_.resize(threads ? static_cast<size_t>(threads->size()) : 1);
  return core;
}

Result<kv::CachePlan> Core::plan_of(const Request& r) const {
  const model::ModelConfig& config = parts_.runner->config();
  Result<kv::CachePlan> plan = kv::make_plan(r.kv ? *r.kv : parts_.info.kv, model::kv_shape(config));
  if (!plan || !plan->evicts()) return plan;
  if (Status s = model::check_plan(config, parts_.runner->options(), *plan); !s) return tl::unexpected(s.error());
  const int64_t blocks = plan->blocks(context_of(*plan)), capacity = parts_.pool->capacity();
  if (blocks <= capacity) return plan;
  return fail(ErrorCode::kInvalidArgument, "the KV budget of " + std::to_string(plan->budget) + " tokens needs " +
                                               std::to_string(blocks) + " blocks of the KV cache, which has " +
                                               std::to_string(capacity));
}

int64_t Core::context_of(const Request& r) const {
  const Result<kv::CachePlan> plan = plan_of(r);
  return plan ? context_of(*plan) : parts_.info.context;
}

Status Core::check(const Request& r) const {
  const auto refuse = [](std::string what) { return fail(ErrorCode::kInvalidArgument, std::move(what)); };
  const ModelInfo& m = parts_.info;
  if (r.prompt.empty()) return refuse("the prompt is empty");
  for (int32_t t : r.prompt) {
    if (t < 0 || t >= m.vocab) {
      return refuse("prompt: token " + std::to_string(t) + " is not in the vocabulary of " + std::to_string(m.vocab));
    }
  }
  const Result<kv::CachePlan> plan = plan_of(r);
  if (!plan) return tl::unexpected(plan.error());
  if (std::ssize(r.prompt) >= context_of(*plan)) {
    return refuse("the prompt of " + std::to_string(r.prompt.size()) + " tokens does not fit the context of " +
                  std::to_string(context_of(*plan)) + " tokens with a token of answer");
  }
  if (Status s = r.sampling.validate(m.vocab); !s) return s;
  if (r.max_tokens < -1) return refuse("max_tokens must be -1 or more");
  if (r.prompt_logprobs < -1 || r.prompt_logprobs > m.vocab) {
    return refuse("prompt_logprobs must be -1 to " + std::to_string(m.vocab));
  }
  if (!(r.timeout_seconds >= 0 && std::isfinite(r.timeout_seconds))) return refuse("timeout must be 0 or more seconds");
  return drafting_.check(r);
}

void Core::add(RequestId id, Request request, std::shared_ptr<RequestListener> listener, double now) {
  sched::Arrival a;
  a.id = id;
  a.tokens = static_cast<int64_t>(request.prompt.size());
  a.priority = request.priority;
  a.time = now;
  if (request.timeout_seconds > 0) a.deadline = now + request.timeout_seconds;
  a.prompt_logits = request.prompt_logprobs >= 0;
  const Result<kv::CachePlan> plan = plan_of(request);
  TOCCATA_CHECK(plan.has_value());
  if (plan->evicts()) a.most_keys = plan->budget;
  auto s = std::make_unique<Sequence>(id, std::move(request), std::move(listener), *parts_.tokenizer, parts_.info.vocab,
                                      context_of(*plan), *plan, now);
  if (plan->ranking) {
    const kv::Layout& layout = parts_.pool->layout();
    Result<kv::RankedState> state = kv::RankedState::create(*plan, layout.layers, layout.kv_heads);
    if (!state) {
      s->report.error = state.error();
      left_queue_.push_back(id);
      s->finish(FinishReason::kError, now);
      if (trace_) trace_->request(*s, FinishReason::kError, now);
      return;
    }
    s->ranked.emplace(std::move(*state));
  }
  memory_.add(s.get());
  sequences_.emplace(id, std::move(s));
  scheduler_.add(a);
}

void Core::end(RequestId id, FinishReason reason) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) return;
  const std::unique_ptr<Sequence> s = std::move(found->second);
  s->report.kv_evicts = s->plan.evicts();
  s->report.kv_tokens = s->plan.kept(s->computed);
  s->report.kv_evicted_tokens = s->computed - s->report.kv_tokens;
  s->report.kv_bytes = static_cast<uint64_t>(s->blocks.size()) * block_bytes();
  scheduler_.remove(id);
  memory_.remove(id);
  sequences_.erase(found);
  drafting_.finished(*s);
  if (!s->started()) left_queue_.push_back(id);
  const double at = now();
  s->finish(reason, at);
  if (trace_) trace_->request(*s, reason, at);
}

void Core::cancel(RequestId id) { end(id, FinishReason::kCancelled); }

void Core::cancel_all() {
  while (!sequences_.empty()) end(sequences_.begin()->first, FinishReason::kCancelled);
}

void Core::calibrate() {
  TOCCATA_CHECK(idle());
  CalibrationLimits limits;
  limits.context = parts_.info.context;
  limits.sequences = parts_.scheduler.max_sequences;
  engine::calibrate(*parts_.runner, *parts_.pool, logits_.as<float>(), limits,
                    [this](const sched::StepShape& shape, double seconds) { scheduler_.learn(shape, seconds); });
}

std::vector<RequestId> Core::left_queue() { return std::exchange(left_queue_, {}); }

void Core::account(const sched::Plan& plan, double now) {
  for (RequestId id : plan.expired) end(id, FinishReason::kTimeout);
  for (RequestId id : plan.preempted) ++sequences_.at(id)->report.preemptions;
  stats_.preemptions += plan.preempted.size();
  for (RequestId id : plan.admitted) {
    Sequence& s = *sequences_.at(id);
    if (s.started()) continue;
    s.admitted(now);
    memory_.count_admission(s);
    left_queue_.push_back(id);
    stats_.prompt_tokens += static_cast<uint64_t>(s.prompt_size);
  }
}

void Core::build(const sched::Plan& plan) {
  spans_.clear();
  rows_.clear();
  int64_t row = 0;
  for (const sched::Slice& slice : plan.slices) {
    Sequence& s = *sequences_.at(slice.id);
    TOCCATA_CHECK(slice.first == s.computed);
    model::SpanInput span;
    span.blocks = s.blocks.data();
    span.first_pos = slice.first;
    if (s.plan.evicts()) span.plan = &s.plan;
    if (s.ranked) span.state = &*s.ranked;
    // The draft stands behind the text until its tokens are drawn or not: then every row's history is a prefix.
    const std::span<const int32_t> draft = s.speculation.chosen();
    s.tokens.insert(s.tokens.end(), draft.begin(), draft.begin() + slice.drafted);
    span.tokens =
        std::span(s.tokens).subspan(static_cast<size_t>(slice.first), static_cast<size_t>(slice.count + slice.drafted));
    // After a preemption rows are computed again whose scores are known already.
    const int64_t from = s.wants_prompt_scores() ? std::max<int64_t>(0, s.scored - slice.first) : slice.count - 1;
    const bool wanted = from < slice.count && (slice.last || s.wants_prompt_scores());
    span.logits_from = wanted ? static_cast<int32_t>(from) : -1;
    for (int64_t i = from; wanted && i < slice.count; ++i) {
      const int64_t drafted = i + 1 == slice.count ? slice.drafted : 0;
      rows_.push_back({&s, row, slice.first + i, drafted, {}});
      row += 1 + drafted;
    }
    spans_.push_back(span);
  }
}

void Core::fail_step(const sched::Plan& plan, const Error& error) {
  std::vector<RequestId> ids;
  for (const sched::Slice& slice : plan.slices) ids.push_back(slice.id);
  for (RequestId id : ids) {
    sequences_.at(id)->report.error = error;
    end(id, FinishReason::kError);
  }
}

std::span<const float> Core::logits(int64_t row) const {
  return {logits_.as<float>() + static_cast<size_t>(row) * parts_.runner->logit_stride(),
          static_cast<size_t>(parts_.info.vocab)};
}

void Core::score(Row& row, SamplerScratch& scratch) const {
  Sequence& s = *row.sequence;
  const std::span<const float> values = logits(row.row);
  TokenOutput& out = s.prompt_scores[static_cast<size_t>(row.position)];
  out.token = s.tokens[static_cast<size_t>(row.position + 1)];
  const LogitsRow view = look_at(values, scratch.tops);
  const double lse = log_sum_exp(view);
  out.logprob = logprob_of(values[static_cast<size_t>(out.token)], lse);
  best_of(view, static_cast<size_t>(s.request.prompt_logprobs), scratch.candidates);
  for (const Candidate& c : scratch.candidates) out.top.push_back({c.token, logprob_of(c.logit, lse)});
}

// Scores, or draws and verifies. The entries of a step are independent: several threads do it at once, and each
// sequence draws in one entry.
void Core::evaluate(Row& row, SamplerScratch& scratch) const {
  if (row.scored()) return score(row, scratch);
  Sequence& s = *row.sequence;
  const size_t known = static_cast<size_t>(row.position + 1);
  const std::span<const int32_t> text(s.tokens);
  const std::span<const int32_t> draft = text.subspan(known, static_cast<size_t>(row.drafted));
  const auto draw = [&](size_t i) {
    row.drawn.push_back(s.sampler.sample(logits(row.row + static_cast<int64_t>(i)), text.first(known + i),
                                         static_cast<int64_t>(known + i), scratch));
    return row.drawn.back().token;
  };
  const auto keep = [&](size_t i) {
    const std::span<const float> target = logits(row.row + static_cast<int64_t>(i));
    const auto at = static_cast<int64_t>(known + i);
    const spec::Proposal proposal = s.speculation.proposal(i);
    const spec::Verdict verdict =
        spec::verify({&proposal, 1}, spec::Distribution::of(s.sampler, target, text.first(known + i), at, scratch),
                     s.request.sampling.seed, at);
    row.drawn.push_back(s.sampler.report(verdict.token, target, text.first(known + i), scratch));
    return verdict.kept == 0;
  };
  const size_t kept =
      drafting_.rejects(s) ? spec::verify_by(draft.size(), keep, draw) : spec::verify_coupled(draft, draw);
  for (size_t i = 0; i < kept; ++i) row.drawn[i].drafted = true;
}

void Core::draw() {
  draw_rows(parts_.runner->threads(), std::ssize(rows_), parts_.info.vocab, scratch_,
            [this](int64_t i, SamplerScratch& scratch) { evaluate(rows_[static_cast<size_t>(i)], scratch); });
}

void Core::deliver(double now) {
  accepted_ = 0;
  for (Row& row : rows_) {
    Sequence& s = *row.sequence;
    if (row.scored()) {
      s.scored = row.position + 1;
      continue;
    }
    if (s.report.generated_tokens == 0 && s.request.prompt_logprobs >= 0) s.deliver_prompt_scores();
    s.tokens.resize(static_cast<size_t>(row.position + 1));  // without the draft
    const int64_t before = s.report.generated_tokens;
    drafting_.drawn(s, row.drawn);
    const Sequence::Taken taken = s.take(row.drawn, now);
    stats_.generated_tokens += static_cast<uint64_t>(s.report.generated_tokens - before);
    if (row.drafted > 0) {
      drafting_.verified(s, row.drafted, taken.count - 1);
      accepted_ += taken.count - 1;
    }
    memory_.computed(s, taken.count - 1);
    if (taken.ended) {
      end(s.id, taken.reason);  // this was its last row
    } else {
      if (row.drafted > 0) memory_.trim(s);
      scheduler_.append(s.id, taken.count);
    }
  }
}

// Before the plan, which has to know how many tokens there are to verify.
void Core::draft() {
  scheduler_.decoding(decoding_);
  drafting_for_.clear();
  for (const sched::SequenceId id : decoding_) drafting_for_.push_back(sequences_.at(id).get());
  drafting_.propose(drafting_for_, scheduler_.cost(), parts_.scheduler.max_draft_rows);
  drafting_seconds_ = drafting_.computed() ? now() - step_start_ : 0.0;
  for (const Sequence* s : drafting_for_) scheduler_.offer(s->id, s->speculation.length);
}

void Core::plan() {
  step_start_ = now();
  draft();
  plan_ = &scheduler_.plan(step_start_, drafting_seconds_);
  account(*plan_, step_start_);
  if (trace_) marks_.planned = now();
}

void Core::run() {
  const sched::Plan& plan = *plan_;
  if (plan.slices.empty()) return;
  build(plan);
  const double before = monotonic_seconds();
  model::Step step{spans_};
  if (trace_) {
    marks_.phases = {};
    marks_.forward = now();
    step.phases = &marks_.phases;
  }
  const Status done = parts_.runner->forward(step, *parts_.pool, logits_.as<float>());
  const double forward = monotonic_seconds() - before;
  if (trace_) marks_.computed = now();
  if (!done) {
    fail_step(plan, done.error());
    return;
  }
  for (const sched::Slice& slice : plan.slices) {
    Sequence& s = *sequences_.at(slice.id);
    const int64_t before_step = s.computed - s.plan.kept(s.computed);
    memory_.computed(s, slice.count);
    stats_.kv_evicted_tokens += static_cast<uint64_t>(s.computed - s.plan.kept(s.computed) - before_step);
  }
  scheduler_.completed();
  draw();
  if (trace_) marks_.drawn = now();
  deliver(now());
  stats_.last_step_tokens = plan.shape.rows();
  stats_.last_step_predicted_seconds = plan.predicted_seconds;
  stats_.last_step_seconds = now() - step_start_;
  const double without_drafting = stats_.last_step_seconds - drafting_seconds_;
  scheduler_.measured(without_drafting);
  drafting_.measured(plan.shape, plan.predicted_seconds, without_drafting);
  stats_.step_seconds += stats_.last_step_seconds;
  stats_.drafting_seconds += drafting_seconds_;
  stats_.forward_seconds += forward;
  ++stats_.steps;
  const sched::StepShape& shape = plan.shape;
  latest_ = {stats_.steps,  step_start_, stats_.last_step_seconds, shape.decodes, shape.prefill_tokens,
             shape.drafted, accepted_};
  if (trace_) trace_step();
}

void Core::trace_step() {
  EngineStats stats;
  fill(stats);
  trace_->step(latest_, marks_, drafting_seconds_, stats);
  if (idle()) trace_->flush();  // who knows when the next event comes
}

void Core::fill(EngineStats& stats) const {
  stats = stats_;
  stats.running = scheduler_.running();
  stats.waiting = scheduler_.waiting();
  const kv::PrefixCache& cache = memory_.cache();
  stats.kv_blocks = parts_.pool->capacity();
  stats.kv_blocks_used = cache.held();
  stats.kv_blocks_cached = cache.cached();
  stats.kv_bytes_used = static_cast<uint64_t>(cache.held()) * block_bytes();
  stats.prefix_queries = memory_.queries();
  stats.prefix_hits = memory_.hits();
  drafting_.fill(stats);
}

}  // namespace toccata::engine
