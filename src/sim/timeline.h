// A simulated schedule as a picture: one row per request, time to the right.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/scheduling.h"

namespace toccata::sim {

// For a terminal. '█': it got a token, else '▒': its prompt is read, '.': it waits. The run's steps must have been
// kept.
std::string timeline_text(std::span<const SimRequest> requests, const SimRun& run, int columns);

// All runs below each other, on one scale. A document of its own.
std::string timeline_svg(std::span<const SimRequest> requests,
                         std::span<const std::pair<std::string, const SimRun*>> runs);

}  // namespace toccata::sim
