// A model that costs nothing and sees everything: its K and V are a record of the token and position that were written,
// and its logits are a hash of all records of the sequence as the block table gives them. One stale, misplaced, shared
// or missing token anywhere changes the answer.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "model/runner.h"
#include "text/tokenizer/tokenizer.h"

namespace toccata::test {

class FakeRunner final : public model::ModelRunner {
 public:
  explicit FakeRunner(int64_t max_rows, int64_t max_logit_rows, int64_t vocab = 48) {
    config_.architecture = "fake";
    config_.vocab = vocab;
    config_.context_length = 1 << 20;
    options_.max_rows = max_rows;
    options_.max_logit_rows = max_logit_rows;
    options_.k_type = options_.v_type = DType::kF32;
  }

  std::function<Status(const model::Step&)> before_forward;  // a test's look at the step, or its fault
  float habit = 0.0f;  // added to the logit of each token's fixed successor, so that texts repeat themselves

  const model::ModelConfig& config() const override { return config_; }
  const model::RunnerOptions& options() const override { return options_; }
  kv::Layout kv_layout() const override { return {1, 1, 8, DType::kF32, DType::kF32}; }
  size_t weight_bytes() const override { return 1; }
  uint64_t matmul_parameters() const override { return 1; }
  std::string_view isa() const override { return "fake"; }
  size_t logit_stride() const override { return static_cast<size_t>(config_.vocab); }

  Status forward(const model::Step& step, kv::Pool& pool, float* logits) override {
    if (before_forward) {
      if (Status s = before_forward(step); !s) return s;
    }
    if (step.rows() > options_.max_rows || step.logit_rows() > options_.max_logit_rows) {
      return fail(ErrorCode::kInvalidArgument, "too many rows");
    }
    for (const model::SpanInput& s : step.spans) {
      const int64_t dense = s.plan && s.plan->evicts() ? s.plan->dense : INT64_MAX;
      // Behind it piece by piece, as the slots of what nobody sees are used again.
      for (int64_t i = 0; i < std::ssize(s.tokens);) {
        const int64_t begin = s.first_pos + i, left = std::ssize(s.tokens) - i;
        const int64_t piece =
            begin < dense ? std::min(left, dense - begin) : std::min(left, s.plan->interval - begin % s.plan->interval);
        if (begin >= dense && s.plan->ranking && begin % s.plan->interval == 0) {
          kv::evict(*s.plan, *s.state, pool, 0, 0, s.blocks, begin, eviction_);
        }
        for (int64_t j = i; j < i + piece; ++j) write(pool, s, j);
        for (int64_t j = i; j < i + piece; ++j) {
          const uint64_t hash = seen(pool, s, s.first_pos + j);
          if (s.logits_from < 0 || j < s.logits_from) continue;
          for (int64_t v = 0; v < config_.vocab; ++v) {
            logits[v] = static_cast<float>(6.0 * rng::uniform(hash, static_cast<uint64_t>(v), rng::Purpose::kTest));
          }
          logits[(s.tokens[static_cast<size_t>(j)] * 5 + 3) % config_.vocab] += habit;
          logits += config_.vocab;
        }
        i += piece;
      }
    }
    return {};
  }

 private:
  struct Record {
    uint64_t text, mark;
  };
  static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9E3779B97F4A7C15ull;
    return std::rotl(h ^ (h >> 29), 23) * 0xBF58476D1CE4E5B9ull;
  }
  // The slot of a position, counted through the block table.
  static int64_t slot(const model::SpanInput& s, int64_t position) {
    if (s.plan && s.plan->ranking && position >= s.plan->dense) {
      return s.plan->kept_blocks * kernels::kKvBlock + position % s.plan->interval;
    }
    return s.entry(position / kernels::kKvBlock) * kernels::kKvBlock + position % kernels::kKvBlock;
  }
  // The first four channels of a slot's K, as bits.
  static void store(const kv::Pool& pool, const model::SpanInput& s, int64_t at, const Record& record) {
    std::byte* k = pool.head(0, s.blocks[at / kernels::kKvBlock], 0) + 4 * (at % kernels::kKvBlock);
    for (size_t d = 0; d < 4; ++d) {
      std::memcpy(k + d * 4 * kernels::kKvBlock, reinterpret_cast<const std::byte*>(&record) + 4 * d, 4);
    }
  }
  static Record load(const kv::Pool& pool, const model::SpanInput& s, int64_t at) {
    const std::byte* k = pool.head(0, s.blocks[at / kernels::kKvBlock], 0) + 4 * (at % kernels::kKvBlock);
    Record record;
    for (size_t d = 0; d < 4; ++d) {
      std::memcpy(reinterpret_cast<std::byte*>(&record) + 4 * d, k + d * 4 * kernels::kKvBlock, 4);
    }
    return record;
  }
  // Behind the first eviction K and V depend on what was evicted, in a real model; here the record has a mark.
  static void write(const kv::Pool& pool, const model::SpanInput& s, int64_t index) {
    const int64_t p = s.first_pos + index;
    const bool evicted = s.plan && s.plan->evicted(p + 1);
    const auto token = static_cast<uint64_t>(s.tokens[static_cast<size_t>(index)]);
    store(pool, s, slot(s, p),
          {mix(static_cast<uint64_t>(p) << 32, token), evicted ? static_cast<uint64_t>(s.plan->budget) : 0});
  }
  // A hash of all records that the query at `position` sees. By rank each gets attention, of amounts that add up
  // exactly.
  static uint64_t seen(const kv::Pool& pool, const model::SpanInput& s, int64_t position) {
    const bool evicted = s.plan && s.plan->evicted(position + 1);
    const uint64_t own = load(pool, s, slot(s, position)).text;
    uint64_t hash = 0;
    const auto look = [&](int64_t at) {
      const Record record = load(pool, s, at);
      hash = mix(mix(hash, record.text), record.mark);
      if (s.state) s.state->attention(0, 0)[at] += static_cast<float>(mix(own, record.text) % 8);
    };
    if (evicted && s.plan->ranking) {
      for (int64_t at = 0; at < s.plan->budget - 1; ++at) look(at);
      for (int64_t p = position - position % s.plan->interval; p <= position; ++p) look(slot(s, p));
      return hash;
    }
    const int64_t sinks = evicted ? s.plan->sinks : 0;
    const int64_t first = evicted ? position - (s.plan->budget - sinks) + 1 : 0;
    for (int64_t p = sinks > 0 ? 0 : first; p <= position; p = p + 1 == sinks ? first : p + 1) look(slot(s, p));
    return hash;
  }

  model::ModelConfig config_;
  model::RunnerOptions options_;
  kv::EvictionScratch eviction_;
};

// Token 0 ends an answer, 1 and 2 are the halves of a character, the others are letters.
class FakeTokenizer final : public Tokenizer {
 public:
  explicit FakeTokenizer(int32_t vocab = 48) {
    for (int32_t i = 0; i < vocab; ++i) {
      texts_.push_back(i == 0   ? "<end>"
                       : i == 1 ? "\xC3"
                       : i == 2 ? "\xA9"
                                : std::string(1, static_cast<char>('a' + (i - 3) % 26)));
    }
  }
  std::vector<TokenId> encode(std::string_view, const EncodeOptions&) const override { return {}; }
  std::string_view token_bytes(TokenId id) const override { return texts_[static_cast<size_t>(id)]; }
  std::string decode(std::span<const TokenId> ids, bool) const override {
    std::string out;
    for (TokenId id : ids) out += token_bytes(id);
    return out;
  }
  int32_t vocab_size() const override { return static_cast<int32_t>(texts_.size()); }
  TokenType token_type(TokenId id) const override { return id == 0 ? TokenType::kControl : TokenType::kNormal; }
  TokenId bos() const override { return -1; }
  TokenId eos() const override { return 0; }
  bool add_bos() const override { return false; }
  bool is_end(TokenId id) const override { return id == 0; }
  std::string_view token_text(TokenId id) const override { return token_bytes(id); }

 private:
  std::vector<std::string> texts_;
};

}  // namespace toccata::test
