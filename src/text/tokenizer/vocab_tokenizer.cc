#include "text/tokenizer/vocab_tokenizer.h"

namespace toccata {

std::string VocabTokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  std::string out;
  bool first = true;
  for (TokenId id : ids) {
    if (!vocab_.contains(id) || (skip_special && vocab_.is_special(id))) continue;
    std::string_view piece = vocab_.bytes(id);
    if (first && strip_space_ && piece.starts_with(' ')) piece.remove_prefix(1);
    first = false;
    out += piece;
  }
  return out;
}

}  // namespace toccata
