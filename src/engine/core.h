// The engine without its thread: requests in, one step at a time. Whoever owns it calls from one thread only; tests
// drive it step by step and look at its invariants in between.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/aligned_buffer.h"
#include "engine/block_memory.h"
#include "engine/drafting.h"
#include "engine/engine_trace.h"
#include "engine/sequence.h"
#include "model/runner.h"
#include "sched/scheduler.h"
#include "toccata/engine.h"

namespace toccata::engine {

// What an engine is made of.
struct Parts {
  std::shared_ptr<model::ModelRunner> runner;  // max_rows at least as scheduler.max_rows
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<kv::Pool> pool;  // nobody else takes blocks of it
  ModelInfo info;
  sched::Options scheduler;
  bool prefix_caching = true;
  spec::Drafters drafters;
  SpeculationParams speculation;     // of requests that say nothing about it
  std::function<double()> clock;     // seconds; empty: the monotonic clock
  std::shared_ptr<TraceFile> trace;  // null: none
};

class Core {
 public:
  static Result<std::unique_ptr<Core>> create(Parts parts);

  const ModelInfo& info() const { return parts_.info; }
  double now() const { return parts_.clock(); }

  // kInvalidArgument that names the parameter. Reads constant state only: any thread may call these.
  Status check(const Request& request) const;
  int64_t context_of(const Request& request) const;

  // Measures what steps cost, for the scheduler's choice of chunks: about half a second. Before the first request.
  void calibrate();

  // `request` must have passed check().
  void add(RequestId id, Request request, std::shared_ptr<RequestListener> listener, double now);
  void cancel(RequestId id);  // without effect once the request has finished
  void cancel_all();

  bool idle() const { return sequences_.empty(); }
  // One step, if there is something to run: plan() decides it, admits and preempts, and ends what is past its deadline;
  // run() computes and delivers. Nothing but fill() and left_queue() may be called in between.
  void plan();
  void run();
  void step() {
    plan();
    run();
  }
  std::vector<RequestId> left_queue();  // requests that have begun or ended since the last call

  void fill(EngineStats& stats) const;
  const StepRecord& latest_step() const { return latest_; }         // number 0: there was none
  std::string check_invariants() const { return memory_.check(); }  // for tests

 private:
  explicit Core(Parts parts);
  void draft();
  Result<kv::CachePlan> plan_of(const Request& request) const;
  int64_t context_of(const kv::CachePlan& plan) const {
    const ModelInfo& m = parts_.info;
    return plan.endless ? m.endless_context : plan.evicts() ? m.bounded_context : m.context;
  }
  void build(const sched::Plan& plan);
  void account(const sched::Plan& plan, double now);
  void draw();
  void deliver(double now);
  void end(RequestId id, FinishReason reason);
  void trace_step();
  void fail_step(const sched::Plan& plan, const Error& error);

  uint64_t block_bytes() const {  // in all layers
    return parts_.pool->layout().pool_block_bytes();
  }

  Parts parts_;
  BlockMemory memory_;
  sched::Scheduler scheduler_;
  Drafting drafting_;
  std::unordered_map<RequestId, std::unique_ptr<Sequence>> sequences_;
  std::vector<RequestId> left_queue_;

  // Of the step; kept to be reused.
  std::vector<model::SpanInput> spans_;
  AlignedBuffer logits_;
  // What is made of logits: the score of a token of a prompt from one row, or the next tokens of a sequence from the
  // row of its last known token and those of the drafted ones behind it.
  struct Row {
    Sequence* sequence;
    int64_t row;       // the first one, in logits_
    int64_t position;  // of the token whose logits they are
    int64_t drafted;   // further rows
    std::vector<Sampled> drawn;
    bool scored() const { return position + 1 < sequence->prompt_size; }
  };
  void evaluate(Row& row, SamplerScratch& scratch) const;
  void score(Row& row, SamplerScratch& scratch) const;
  std::vector<SamplerScratch> scratch_;  // per thread
  std::span<const float> logits(int64_t row) const;
  std::vector<Row> rows_;
  std::vector<sched::SequenceId> decoding_;
  std::vector<Sequence*> drafting_for_;
  EngineStats stats_;
  StepRecord latest_;
  int64_t accepted_ = 0;  // drafted tokens of the step
  const sched::Plan* plan_ = nullptr;
  std::optional<EngineTrace> trace_;
  StepMarks marks_;                               // of the step, with a trace
  double step_start_ = 0, drafting_seconds_ = 0;  // of the step
};

}  // namespace toccata::engine
