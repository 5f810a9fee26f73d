// One sequence on a model: what `toccata eval` and `bench` drive. It owns the block table and feeds prompts in
// chunks; the scheduler of the server does the same for many.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/runner.h"

namespace toccata {

class Session {
 public:
  // Both must outlive the session. plan: of the runner's shape.
  Session(model::ModelRunner& runner, kv::Pool& pool, const kv::CachePlan& plan = {})
      : runner_(runner), pool_(pool), plan_(plan) {}
  ~Session() { truncate(0); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int64_t length() const { return static_cast<int64_t>(tokens_.size()); }
  std::span<const int32_t> tokens() const { return tokens_; }

  // Appends tokens in steps of at most `chunk` (0: the runner's max_rows). Afterwards logits() holds the last token's
  // row. Error: kResourceExhausted when the pool is full (nothing appended), or what forward() says.
  Status append(std::span<const int32_t> tokens, int64_t chunk = 0);
  // As append, and calls on_row(position, logits row) for each token from `from` (an index into tokens) on.
  Status append_with_logits(std::span<const int32_t> tokens, int64_t from, int64_t chunk,
                            const std::function<void(int64_t, std::span<const float>)>& on_row);
  std::span<const float> logits() const { return {last_.data(), last_.size()}; }

  // Forgets all tokens at positions >= length and releases their blocks. Where the plan's evictions
  // leave no way back it forgets all tokens.
  void truncate(int64_t length);

  // Of a plan by rank, once there are tokens; else null.
  const kv::RankedState* ranked() const { return state_ ? &*state_ : nullptr; }

  // Block table with room for `length` tokens; for callers that build steps of several sequences themselves.
  Status reserve(int64_t length);
  const std::vector<kv::BlockId>& blocks() const { return blocks_; }
  // The next tokens as a span of a step; logits_from as there. They must be reserved.
  model::SpanInput span(std::span<const int32_t> tokens, int32_t logits_from) {
    return {blocks_.data(), length(), tokens, logits_from, &plan_, state_ ? &*state_ : nullptr};
  }
  void commit(std::span<const int32_t> tokens) { tokens_.insert(tokens_.end(), tokens.begin(), tokens.end()); }

 private:
  model::ModelRunner& runner_;
  kv::Pool& pool_;
  const kv::CachePlan plan_;
  std::optional<kv::RankedState> state_;  // of a plan by rank, from the first reserve() on
  std::vector<int32_t> tokens_;
  std::vector<kv::BlockId> blocks_;
  std::vector<float> last_;
  std::vector<float> rows_;
};

}  // namespace toccata
