// Byte-level BPE ("gpt2" in GGUF), with the ids of Hugging Face's tokenizers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/tokenizer/pretokenizer.h"
#include "text/tokenizer/vocab_tokenizer.h"

namespace toccata {

// (left, right) -> (rank, merged): open addressing, a power of two, at most half full.
class MergeTable {
 public:
  explicit MergeTable(size_t merges);
  // A pair that is set again takes the later rank, as in Hugging Face's tokenizers.
  void set(TokenId left, TokenId right, uint32_t rank, TokenId merged);
  bool find(TokenId left, TokenId right, uint32_t& rank, TokenId& merged) const;

 private:
  struct Slot {
    TokenId left = -1, right = -1;
    uint32_t rank = 0;
    TokenId merged = -1;
  };
  size_t start(TokenId left, TokenId right) const;
  std::vector<Slot> slots_;
  int shift_;
};

class ByteBpeTokenizer final : public VocabTokenizer {
 public:
  // Errors: kInvalidFile (inconsistent metadata), kUnsupported (an unknown pre-tokenizer).
  static Result<std::unique_ptr<Tokenizer>> create(const VocabData& data);

  // Text that is not UTF-8 is encoded byte by byte. A byte that the vocabulary lacks (SmolLM2 lacks 21 of them, most
  // of which no valid text has) is left out, as Hugging Face does, or becomes U+FFFD inside invalid UTF-8.
  std::vector<TokenId> encode(std::string_view text, const EncodeOptions& options) const override;

 private:
  class Encoder;
  ByteBpeTokenizer(Vocab vocab, const PreTokenizerSpec& spec, size_t merges);
  Status read_merges(const std::vector<std::string_view>& merges);

  PreTokenizer pretokenizer_;
  MergeTable merges_;
  bool nfc_;
  bool ignore_merges_;
  SpecialMatcher all_special_, user_defined_;
};

}  // namespace toccata
