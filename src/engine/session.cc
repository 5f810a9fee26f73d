#include "engine/session.h"

#include <algorithm>

namespace toccata {

Status Session::reserve(int64_t length) {
  if (plan_.ranking && !state_) {
    const kv::Layout& layout = pool_.layout();
    Result<kv::RankedState> state = kv::RankedState::create(plan_, layout.layers, layout.kv_heads);
    if (!state) return tl::unexpected(state.error());
    state_.emplace(std::move(*state));
  }
  const size_t needed = static_cast<size_t>(plan_.blocks(length));
  const size_t had = blocks_.size();
  while (blocks_.size() < needed) {
    Result<kv::BlockId> block = pool_.allocate();
    if (!block) {
      while (blocks_.size() > had) {
        pool_.release(blocks_.back());
        blocks_.pop_back();
      }
      return tl::unexpected(block.error());
    }
    blocks_.push_back(*block);
  }
  return {};
}

void Session::truncate(int64_t length) {
  if (length >= this->length()) return;
  if (!plan_.can_return(this->length(), length)) length = 0;
  if (state_ && length == 0) state_->clear();
  tokens_.resize(static_cast<size_t>(length));
  const size_t needed = static_cast<size_t>(plan_.blocks(length));
  while (blocks_.size() > needed) {
    pool_.release(blocks_.back());
    blocks_.pop_back();
  }
}

Status Session::append(std::span<const int32_t> tokens, int64_t chunk) {
  return append_with_logits(tokens, static_cast<int64_t>(tokens.size()) - 1, chunk, nullptr);
}

Status Session::append_with_logits(std::span<const int32_t> tokens, int64_t from, int64_t chunk,
                                   const std::function<void(int64_t, std::span<const float>)>& on_row) {
  if (tokens.empty()) return {};
  const int64_t n = static_cast<int64_t>(tokens.size());
  const size_t stride = runner_.logit_stride();
  const size_t vocab = static_cast<size_t>(runner_.config().vocab);
  // Rows beyond max_logit_rows cannot come from one step, so steps that give logits are no longer than that.
  int64_t most = chunk > 0 ? std::min(chunk, runner_.options().max_rows) : runner_.options().max_rows;
  if (Status s = reserve(length() + n); !s) return s;
  for (int64_t done = 0; done < n;) {
    int64_t count = std::min(most, n - done);
    if (from < done + count - 1) count = std::min(count, runner_.options().max_logit_rows);
    const int32_t logits_from = from < done + count ? static_cast<int32_t>(std::max<int64_t>(0, from - done)) : -1;
    const model::SpanInput span =
        this->span(tokens.subspan(static_cast<size_t>(done), static_cast<size_t>(count)), logits_from);
    const int64_t rows = span.logits_from < 0 ? 0 : count - span.logits_from;
    if (rows_.size() < static_cast<size_t>(rows) * stride) rows_.resize(static_cast<size_t>(rows) * stride);
    const model::Step step{std::span(&span, 1)};
    if (Status s = runner_.forward(step, pool_, rows_.data()); !s) return s;
    for (int64_t r = 0; on_row && r < rows; ++r) {
      on_row(span.first_pos + span.logits_from + r, {rows_.data() + static_cast<size_t>(r) * stride, vocab});
    }
    if (rows > 0) {
      const float* last = rows_.data() + static_cast<size_t>(rows - 1) * stride;
      last_.assign(last, last + vocab);
    }
    commit(span.tokens);
    done += count;
  }
  return {};
}

}  // namespace toccata
