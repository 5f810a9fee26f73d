// What a GGUF file says about its tokenizer, as plain values: the boundary between the file and the algorithms.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/tokenizer.h"
#include "toccata/result.h"

namespace toccata {

struct VocabData {
  std::string model;                     // tokenizer.ggml.model: "gpt2" or "llama"
  std::string pre;                       // tokenizer.ggml.pre, "" when absent
  std::vector<std::string_view> tokens;  // borrowed; a tokenizer copies what it keeps
  std::vector<TokenType> types;          // as many as tokens
  std::vector<float> scores;             // "llama": as many as tokens
  std::vector<std::string_view> merges;  // "gpt2": "left right", best first
  std::optional<TokenId> bos, eos, eot, eom, unknown;
  std::optional<bool> add_bos, add_eos, add_space_prefix;
  bool remove_extra_whitespaces = false;

  // Errors: kInvalidFile, naming the key that is missing or has the wrong type or length.
  static Result<VocabData> from_gguf(const gguf::File& file);
};

// Checks the values against each other and builds the tokenizer. Errors: kInvalidFile (naming the key and entry),
// kUnsupported (naming the model or pre-tokenizer).
Result<std::unique_ptr<Tokenizer>> make_tokenizer(const VocabData& data);

}  // namespace toccata
