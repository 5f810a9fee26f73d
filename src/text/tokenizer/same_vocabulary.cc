#include "text/tokenizer/same_vocabulary.h"

#include <algorithm>

#include "text/tokenizer/utf8_runs.h"

namespace toccata {
namespace {

constexpr size_t kShown = 40;  // bytes of a token's text

std::string shown(const Tokenizer& t, TokenId id) {
  if (id < 0) return "none";
  return std::to_string(id) + " ('" + to_valid_utf8(t.token_text(id).substr(0, kShown)) + "')";
}

}  // namespace

Status check_same_vocabulary(const Tokenizer& target, const std::string& model, const Tokenizer& drafter,
                             const std::string& draft) {
  const auto refuse = [&](const std::string& what, const std::string& theirs, const std::string& ours) {
    return fail(ErrorCode::kInvalidArgument, "'" + draft + "' cannot draft for '" + model +
                                                 "': their vocabularies differ, " + what + " is " + theirs +
                                                 " in the " + "draft model and " + ours + " in the model");
  };
  const int32_t common = std::min(target.vocab_size(), drafter.vocab_size());
  for (TokenId id = 0; id < common; ++id) {
    if (target.token_text(id) != drafter.token_text(id)) {
      return refuse("token " + std::to_string(id), "'" + to_valid_utf8(drafter.token_text(id).substr(0, kShown)) + "'",
                    "'" + to_valid_utf8(target.token_text(id).substr(0, kShown)) + "'");
    }
    if (target.is_end(id) != drafter.is_end(id)) {
      return refuse("token " + shown(target, id), drafter.is_end(id) ? "an end token" : "not an end token",
                    target.is_end(id) ? "one" : "not one");
    }
  }
  const Tokenizer& longer = target.vocab_size() > common ? target : drafter;
  for (TokenId id = common; id < longer.vocab_size(); ++id) {
    if (longer.token_type(id) == TokenType::kUnused) continue;
    return refuse("the number of tokens", std::to_string(drafter.vocab_size()), std::to_string(target.vocab_size()));
  }
  const auto special = [&](const char* name, TokenId theirs, TokenId ours) -> Status {
    if (theirs < 0 || ours < 0 || theirs == ours) return {};
    return refuse(name, shown(drafter, theirs), shown(target, ours));
  };
  if (Status s = special("BOS", drafter.bos(), target.bos()); !s) return s;
  return special("EOS", drafter.eos(), target.eos());
}

}  // namespace toccata
