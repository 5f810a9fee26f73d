// The Engine on a thread of its own: other threads leave submissions and cancellations in an inbox, the engine's thread
// takes them between two steps.
#pragma once

#include <memory>

#include "engine/core.h"
#include "toccata/engine.h"

namespace toccata::engine {

struct QueueLimits {
  int64_t requests = 256, tokens = 1 << 20;
};

std::unique_ptr<Engine> start_engine(std::unique_ptr<Core> core, const QueueLimits& limits);

}  // namespace toccata::engine
