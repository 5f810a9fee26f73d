// What steps cost on this machine, before the first request: the scheduler's cost model has to be right from the first
// step, and what it learns from short prompts tells nothing of the keys of long ones.
#pragma once

#include <cstdint>
#include <functional>

#include "kv/pool.h"
#include "model/runner.h"
#include "sched/cost_model.h"

namespace toccata::engine {

struct CalibrationLimits {
  int64_t context = 0;    // most tokens of a sequence
  int64_t sequences = 1;  // most that decode in one step
  double seconds = 0.5;   // no further step begins after this time
};

// Runs a few steps of made-up tokens behind made-up keys (blocks of the pool as they are; what is computed is
// dropped) and reports each step's time. The pool is afterwards as before; with too few blocks or after an error there
// are fewer reports, or none. `logits`: room as for ModelRunner::forward.
void calibrate(model::ModelRunner& runner, kv::Pool& pool, float* logits, const CalibrationLimits& limits,
               const std::function<void(const sched::StepShape&, double seconds)>& report);

}  // namespace toccata::engine
