// Which tokens of a real text stay under a KV policy, as the engine's own state says after reading it.
#pragma once

#include <string>
#include <vector>

#include "loaded_model.h"

namespace toccata::cli {

struct KeptTokens {
  std::string policy;
  int64_t budget = 0;
  int heads = 0;              // layers x KV heads that were asked; 1 by position, where all are the same
  std::vector<int32_t> kept;  // by token: how many of these keep it

  // At least half of the heads keep it.
  bool marked(size_t token) const { return 2 * kept[token] >= heads; }
};

// Reads the text under the rule. layer, kv_head: from 0; -1: all, without layers that have a sliding window. Errors:
// kInvalidArgument (the rule, a layer that the model lacks), or what the engine says.
Result<KeptTokens> kept_tokens(const LoadedModel& model, const KvPolicy& rule, const std::vector<int32_t>& ids,
                               int64_t chunk, int64_t layer, int64_t kv_head);

// The text with the marked tokens bright and the others dim, or without colours in square brackets.
std::string marked_text(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, const KeptTokens& kept,
                        bool colours);

}  // namespace toccata::cli
