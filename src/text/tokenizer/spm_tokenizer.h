// SentencePiece BPE ("llama" in GGUF): pieces with scores, byte fallback (Kudo & Richardson 2018).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/tokenizer/vocab_tokenizer.h"

namespace toccata {

// SentencePiece writes a space as U+2581, so the two are the same character to it. Here both are a space: the text's
// U+2581 and the pieces' become spaces, which makes a piece's key its decoded bytes.
class SpmTokenizer final : public VocabTokenizer {
 public:
  // Errors: kInvalidFile (inconsistent metadata).
  static Result<std::unique_ptr<Tokenizer>> create(const VocabData& data);

  // A character that no piece covers becomes byte tokens, or the unknown token where the vocabulary has no bytes
  // (one for a whole run of such characters); bytes that are not UTF-8 become byte tokens, or U+FFFD.
  std::vector<TokenId> encode(std::string_view text, const EncodeOptions& options) const override;

 private:
  class Encoder;
  SpmTokenizer(Vocab vocab, const VocabData& data);
  void rank_scores(const std::vector<float>& scores);
  void find_inner_pairs();

  bool may_join(char32_t left, char32_t right) const;

  bool space_prefix_;
  bool remove_extra_spaces_;
  bool byte_fallback_ = true;    // there is a token for each of the 256 bytes
  bool has_unused_ = false;      // pieces that only serve as steps of merges
  std::vector<uint32_t> ranks_;  // per token: 0 for the best score
  std::vector<bool> inner_pairs_;
  SpecialMatcher special_, user_defined_;
};

}  // namespace toccata
