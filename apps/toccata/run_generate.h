// One answer: prompt in, tokens out, with the times that the summary and the benchmarks report.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core.h"
#include "loaded_model.h"

namespace toccata::cli {

struct GenerateOptions {
  int64_t most_tokens = -1;  // -1: until an end token or the context's end
  bool ignore_end = false;   // end tokens count as any other
  std::vector<std::string> stops;
};

enum class Finish { kStop, kLength, kContextFull, kInterrupted, kOutputFailed };

struct Generation {
  Finish finish = Finish::kStop;
  int64_t prompt_tokens = 0;  // of the whole prompt
  int64_t cached_tokens = 0;  // of them, already in the KV cache
  std::string text;
  std::vector<int32_t> tokens;       // without the end token
  double prompt_seconds = 0.0;       // reading the prompt
  double first_token_seconds = 0.0;  // from the call to the first token; 0 if there was none
  std::vector<double> gaps;          // seconds between consecutive tokens; those of one step share its time
  int64_t drafts = 0;                // steps that verified a draft
  int64_t drafted_tokens = 0, accepted_tokens = 0;
  Status output;  // why the output failed (kOutputFailed)
};

struct Listener {
  std::function<Status(std::string_view)> text;   // complete characters, never part of a stop string
  std::function<void(const TokenOutput&)> token;  // each token, before its text; may be empty
};

// Answers one prompt after the other with the engine of the server. The KV cache of earlier prompts is kept.
class Generator {
 public:
  struct Options {
    SamplingParams sampling;
    SpeculationParams speculation;
    std::unique_ptr<spec::PacedDrafter> draft_model;  // may be null
    int64_t chunk = 512;                              // most prompt tokens per step
    std::shared_ptr<TraceFile> trace;                 // may be null
  };
  // What the model has to be loaded with.
  static LoadNeeds needs(const ModelOptions& model);
  // The model must outlive the generator.
  static Result<Generator> create(const LoadedModel& model, Options options);

  // Errors: kInvalidArgument when the prompt is empty or does not fit the context with one token of answer.
  Result<Generation> generate(std::span<const int32_t> prompt, const GenerateOptions& options,
                              const Listener& listener);
  uint64_t seed() const { return sampling_.seed; }

 private:
  Generator(const LoadedModel& model, SamplingParams sampling, std::unique_ptr<engine::Core> core)
      : model_(&model), sampling_(std::move(sampling)), core_(std::move(core)) {}

  const LoadedModel* model_;
  SamplingParams sampling_;
  std::unique_ptr<engine::Core> core_;
  RequestId last_id_ = 0;
};

}  // namespace toccata::cli
