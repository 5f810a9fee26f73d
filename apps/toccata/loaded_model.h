// A model ready to run: file, tokenizer, runner and a KV pool, loaded as the options say.
#pragma once

#include <memory>

#include "engine/session.h"
#include "format/gguf/gguf.h"
#include "model/runner.h"
#include "options.h"
#include "spec/drafter.h"
#include "text/tokenizer/tokenizer.h"
#include "toccata/result.h"

namespace toccata::cli {

struct LoadedModel {
  std::shared_ptr<const gguf::File> file;
  std::shared_ptr<Tokenizer> tokenizer;
  std::shared_ptr<model::ModelRunner> runner;
  std::shared_ptr<kv::Pool> pool;
  int64_t context = 0;  // tokens that one sequence may have; kv::kMostPositions: without end
  KvPolicy kv;          // of the options
  kv::CachePlan plan;   // of that policy
  int threads = 1;
  double load_seconds = 0.0;

  int32_t vocab() const { return static_cast<int32_t>(runner->config().vocab); }
};

struct LoadNeeds {
  int64_t context = 0;     // overrides options.context if above 0
  int64_t sequences = 1;   // that share the pool, each of `context` tokens
  int64_t logit_rows = 1;  // most rows of logits in one step
  int64_t most_rows = 0;   // overrides options.chunk if above 0
};

// Shows a progress bar on a terminal once loading has taken a second.
Result<std::unique_ptr<LoadedModel>> load_model(const ModelOptions& options, const LoadNeeds& needs);

// The draft model at that path for a loaded model, for one request at a time.
Result<std::unique_ptr<spec::PacedDrafter>> load_draft(const std::string& path, const ModelOptions& options,
                                                       const LoadedModel& model);

// Tokenizer and file alone.
Result<std::unique_ptr<LoadedModel>> load_text_side(const std::string& path);

// "command: message" on stderr; returns 1.
int report(const char* command, const Error& error);

}  // namespace toccata::cli
