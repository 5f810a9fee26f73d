// Tokenizers described by GGUF metadata: byte-level BPE ("gpt2") and SentencePiece ("llama").
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/gguf/gguf.h"
#include "toccata/result.h"

namespace toccata {

using TokenId = int32_t;

enum class TokenType : uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

class Tokenizer {
 public:
  // Errors: kInvalidFile (missing or inconsistent keys, named), kUnsupported (an unknown model or pre-tokenizer,
  // named).
  static Result<std::unique_ptr<Tokenizer>> from_gguf(const gguf::File& file);
  virtual ~Tokenizer() = default;

  struct EncodeOptions {
    bool parse_special = true;  // recognise control tokens in the text; user-defined ones always match
    bool add_special = false;   // add BOS/EOS as the metadata asks
  };
  // Any bytes are accepted; invalid UTF-8 becomes byte tokens (or U+FFFD where the vocabulary has none).
  virtual std::vector<TokenId> encode(std::string_view text, const EncodeOptions& options) const = 0;

  // The raw bytes of one token; control tokens give their text. Ids outside the vocabulary give "".
  virtual std::string_view token_bytes(TokenId id) const = 0;
  // Inverse of encode (may end inside a character when the ids do).
  virtual std::string decode(std::span<const TokenId> ids, bool skip_special = false) const = 0;

  virtual int32_t vocab_size() const = 0;
  virtual TokenType token_type(TokenId id) const = 0;
  virtual TokenId bos() const = 0;  // -1 when there is none
  virtual TokenId eos() const = 0;
  virtual bool add_bos() const = 0;
  virtual bool is_end(TokenId id) const = 0;                  // any end-of-generation token (EOS, EOT, EOM...)
  virtual std::string_view token_text(TokenId id) const = 0;  // as stored in the file
};

// Turns a stream of tokens into text pieces that never split a UTF-8 character. push() returns what has become
// complete (may be empty), flush() the rest, an incomplete character as U+FFFD.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = true)
      : tokenizer_(tokenizer), skip_special_(skip_special) {}
  std::string push(TokenId id);
  std::string flush();

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_;
  bool first_ = true;
  std::string pending_;
};

}  // namespace toccata
