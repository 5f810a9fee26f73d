#include "feed.h"

#include <algorithm>

#include "interrupt.h"

namespace toccata::cli {

Result<bool> feed(Session& session, std::span<const int32_t> tokens, int64_t chunk, const OnRow& on_row) {
  const int64_t n = static_cast<int64_t>(tokens.size());
  for (int64_t at = 0; at < n; at += chunk) {
    if (interrupted()) return false;
    const int64_t count = std::min(chunk, n - at);
    const int64_t from = on_row ? 0 : n - 1 - at;  // beyond the step unless it is the last one
    const auto step = tokens.subspan(static_cast<size_t>(at), static_cast<size_t>(count));
    if (Status s = session.append_with_logits(step, from, chunk, on_row); !s) return tl::unexpected(s.error());
  }
  return !interrupted();
}

}  // namespace toccata::cli
