// What an engine does, as events of a TraceFile: each step with its phases, each request with its stations.
#pragma once

#include <memory>

#include "engine/sequence.h"
#include "model/runner.h"
#include "toccata/engine.h"
#include "toccata/trace.h"

namespace toccata::engine {

// Where a step was when; seconds on the engine's clock.
struct StepMarks {
  double planned = 0.0;   // drafts are made, the scheduler has decided
  double forward = 0.0;   // the model begins
  double computed = 0.0;  // the model ends
  double drawn = 0.0;     // tokens are drawn
  model::PhaseTimes phases;
};

class EngineTrace {
 public:
  // model: the name that the process gets.
  EngineTrace(std::shared_ptr<TraceFile> file, std::string_view model);

  // The step as a slice with its rows, predicted and actual milliseconds; in it what it was busy with; on a second
  // track the model's phases, which are sums over the layers, end to end. stats: the engine's after the step.
  void step(const StepRecord& record, const StepMarks& marks, double drafting_seconds, const EngineStats& stats);
  // A request that has ended: queued, prefill and decode inside of one span. now: its end.
  void request(const Sequence& s, FinishReason reason, double now);
  void flush() { file_->flush(); }

 private:
  void phases(const StepMarks& marks);
  std::shared_ptr<TraceFile> file_;
};

// The runner, each of whose forward steps becomes a step of the trace. For callers without an engine; a span with
// logits for all its tokens counts as a decode with drafts, others as prefill.
std::shared_ptr<model::ModelRunner> traced(std::shared_ptr<model::ModelRunner> runner, std::shared_ptr<TraceFile> file);

}  // namespace toccata::engine
