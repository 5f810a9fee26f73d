// What of the model the server itself needs: how text becomes tokens and back.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "server/chat_prompt.h"
#include "text/tokenizer/tokenizer.h"

namespace toccata::server {

struct TextSide {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::optional<ChatPrompts> chat;  // absent: the model has no usable template
  std::string no_chat_reason;       // then: why
  std::vector<std::string> names;   // served model names; the first one is shown in answers
  int64_t created = 0;              // Unix time
};

}  // namespace toccata::server
