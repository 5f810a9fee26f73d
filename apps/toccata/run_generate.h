// One answer: prompt in, tokens out, with the times that the summary and the benchmarks report.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loaded_model.h"
#include "sampling/sampler.h"

namespace toccata::cli {

struct GenerateOptions {
  int64_t most_tokens = -1;  // -1: until an end token or the context's end
  bool ignore_end = false;   // end tokens count as any other
  std::vector<std::string> stops;
  int64_t chunk = 512;
};

enum class Finish { kStop, kLength, kContextFull, kInterrupted, kOutputFailed };

struct Generation {
  Finish finish = Finish::kStop;
  int64_t prompt_tokens = 0;  // of the whole prompt
  int64_t cached_tokens = 0;  // of them, already in the session
  std::string text;
  std::vector<int32_t> tokens;       // without the end token
  double prompt_seconds = 0.0;       // reading the prompt
  double first_token_seconds = 0.0;  // from the call to the first token; 0 if there was none
  std::vector<double> gaps;          // seconds between consecutive tokens
  Status output;                     // why the output failed (kOutputFailed)
};

struct Listener {
  std::function<Status(std::string_view)> text;  // complete characters, never part of a stop string
  std::function<void(const Sampled&)> token;     // each token, before its text; may be empty
};

// Continues `session` to hold `prompt` (what both have in common at the front is kept) and samples until the end.
// Errors: kInvalidArgument when the prompt is empty or does not fit the context with one token of answer.
Result<Generation> generate(LoadedModel& model, Session& session, std::span<const int32_t> prompt,
                            const Sampler& sampler, const GenerateOptions& options, const Listener& listener);

}  // namespace toccata::cli
