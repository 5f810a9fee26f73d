// Whether two models speak of the same tokens, so that one can draft for the other.
#pragma once

#include <string>

#include "text/tokenizer/tokenizer.h"
#include "toccata/result.h"

namespace toccata {

// kInvalidArgument with the first difference: a token's text, whether it ends an answer, BOS or EOS where both have
// one. One table may be longer by padding (unused tokens), as files of one family are: Qwen2.5 has 151,936 or 152,064.
// `model` and `draft` are the names for the message.
Status check_same_vocabulary(const Tokenizer& target, const std::string& model, const Tokenizer& drafter,
                             const std::string& draft);

}  // namespace toccata
