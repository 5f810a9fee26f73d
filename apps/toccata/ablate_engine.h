// Requests on an engine of one's own, with the time of each token.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "toccata/engine.h"

namespace toccata::cli {

struct EngineAnswer {
  double submitted = 0;
  std::vector<double> arrivals;  // of each token, on the same clock
  std::vector<int32_t> tokens;
  RequestReport report;

  double first_token_ms() const { return arrivals.empty() ? 0 : (arrivals.front() - submitted) * 1e3; }
  std::vector<double> gaps_ms() const;
};

// Submits the requests at once, `last` (if it has a prompt) when each of them has `after` tokens, and waits for all;
// its answer is the last one. Interrupted, all are cancelled. Errors: of submit(), and of a request that failed.
Result<std::vector<EngineAnswer>> answers_of(Engine& engine, std::vector<Request> requests, Request last = {},
                                             int64_t after = 0);

}  // namespace toccata::cli
