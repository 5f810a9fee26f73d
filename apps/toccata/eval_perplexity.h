// `toccata eval --perplexity TEXT`, `--divergence TEXT` and `--logits-dump FILE`.
#pragma once

#include <string>

#include "loaded_model.h"
#include "options.h"

namespace toccata::cli {

// Cuts the text's tokens into windows of options.context tokens (0: 512), each evaluated from an empty cache and
// begun with BOS where the model wants one, and prints exp(mean nll) with its standard error to stdout.
Status eval_perplexity(const ModelOptions& options, const std::string& text_path);

// The same windows, compared token by token with the same model whose cache is f16: mean KL divergence of the two
// distributions, how often the most likely token is the same, and both perplexities.
Status eval_divergence(const ModelOptions& options, const std::string& text_path);

struct DivergenceSummary {
  double kl = 0;  // mean, of the second from the first
  double perplexity = 0, base_perplexity = 0;
  int64_t tokens = 0;  // compared
};
// One window of both, which are the same model with different caches, each with logit rows for 64 tokens. Under a
// policy only positions that see less than all count.
Result<DivergenceSummary> divergence_of(LoadedModel& base, LoadedModel& other, const std::vector<int32_t>& ids);

struct DumpOptions {
  std::string prompt_path;   // text; special tokens are recognised, BOS is added as the model asks
  std::string file;          // raw little-endian f32 rows; empty: none
  bool hashes = false;       // one line per row on stdout: position and XXH3-64 of the row's bytes
  int64_t last = 1;          // rows of the last tokens
  int64_t prefix_chunk = 0;  // chunk size before those tokens; 0: the same
  int64_t neighbours = 0;    // other sequences that share every step
};

// The logits of the prompt's last tokens, for comparing bits between chunk sizes, threads, instruction sets and
// batches with cmp.
Status eval_dump(const ModelOptions& options, const DumpOptions& dump);

}  // namespace toccata::cli
