// Prompts into a session, with a look at Ctrl-C between steps.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "engine/session.h"

namespace toccata::cli {

using OnRow = std::function<void(int64_t position, std::span<const float> row)>;

// Appends the tokens in steps of at most `chunk`. With on_row each token's logits are computed and handed over, else
// only the last token's, which session.logits() then holds. False: interrupted, and the session holds the first of
// the tokens. Errors: those of Session::append.
Result<bool> feed(Session& session, std::span<const int32_t> tokens, int64_t chunk, const OnRow& on_row = nullptr);

}  // namespace toccata::cli
