// What both tokenizer families share: the vocabulary's view of tokens, decoding, splitting at special tokens.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "text/tokenizer/special_matcher.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/vocab.h"

namespace toccata {

class VocabTokenizer : public Tokenizer {
 public:
  std::string_view token_bytes(TokenId id) const final { return vocab_.bytes(id); }
  std::string decode(std::span<const TokenId> ids, bool skip_special) const final;
  int32_t vocab_size() const final { return vocab_.size(); }
  TokenType token_type(TokenId id) const final { return vocab_.type(id); }
  TokenId bos() const final { return vocab_.bos(); }
  TokenId eos() const final { return vocab_.eos(); }
  bool add_bos() const final { return vocab_.add_bos(); }
  bool is_end(TokenId id) const final { return vocab_.is_end(id); }
  std::string_view token_text(TokenId id) const final { return vocab_.text(id); }

 protected:
  // `strip_space`: decode() drops the space that encode() put before the text.
  VocabTokenizer(Vocab vocab, bool strip_space) : vocab_(std::move(vocab)), strip_space_(strip_space) {}

  // The tokens of the types that `wanted` accepts, as patterns of their text (or bytes).
  template <class Wanted>
  SpecialMatcher matcher_for(Wanted&& wanted, bool by_bytes = false) const {
    std::vector<std::pair<std::string, TokenId>> patterns;
    for (TokenId id = 0; id < vocab_.size(); ++id) {
      if (wanted(vocab_.type(id))) patterns.emplace_back(by_bytes ? vocab_.bytes(id) : vocab_.text(id), id);
    }
    return SpecialMatcher(std::move(patterns));
  }

  // Calls on_text(stretch) for what lies between the matches in `text` and on_token(id) for each match, in order.
  template <class OnText, class OnToken>
  static void split_at(const SpecialMatcher& matcher, std::string_view text, OnText&& on_text, OnToken&& on_token) {
    for (size_t pos = 0; pos < text.size();) {
      const SpecialMatcher::Match match = matcher.find(text, pos);
      const size_t end = match.id < 0 ? text.size() : match.begin;
      if (end > pos) on_text(text.substr(pos, end - pos));
      if (match.id >= 0) on_token(match.id);
      pos = end + match.length;
    }
  }

  Vocab vocab_;
  bool strip_space_;
};

}  // namespace toccata
