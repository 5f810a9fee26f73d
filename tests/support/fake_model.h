// A model that costs nothing and sees everything: its K and V are a record of the token and position that were written,
// and its logits are a hash of all records of the sequence as the block table gives them. One stale, misplaced, shared
// or missing token anywhere changes the answer.
#pragma once

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
      for (size_t i = 0; i < s.tokens.size(); ++i) {
        const int64_t p = s.first_pos + static_cast<int64_t>(i);
        const uint64_t record = mix(static_cast<uint64_t>(p) << 32, static_cast<uint64_t>(s.tokens[i]));
        std::memcpy(slot(pool, s.blocks, p), &record, sizeof(record));
      }
    }
    for (const model::SpanInput& s : step.spans) {
      for (int64_t i = s.logits_from; i >= 0 && i < std::ssize(s.tokens); ++i, logits += config_.vocab) {
        uint64_t hash = 0;
        for (int64_t p = 0; p <= s.first_pos + i; ++p) {
          uint64_t record;
          std::memcpy(&record, slot(pool, s.blocks, p), sizeof(record));
          hash = mix(hash, record);
        }
        for (int64_t v = 0; v < config_.vocab; ++v) {
          logits[v] = static_cast<float>(6.0 * rng::uniform(hash, static_cast<uint64_t>(v), rng::Purpose::kTest));
        }
        logits[(s.tokens[static_cast<size_t>(i)] * 5 + 3) % config_.vocab] += habit;
      }
    }
    return {};
  }

 private:
  static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9E3779B97F4A7C15ull;
    return std::rotl(h ^ (h >> 29), 23) * 0xBF58476D1CE4E5B9ull;
  }
  static std::byte* slot(const kv::Pool& pool, const kv::BlockId* blocks, int64_t position) {
    return pool.head(0, blocks[position / kernels::kKvBlock], 0) + 8 * (position % kernels::kKvBlock);
  }

  model::ModelConfig config_;
  model::RunnerOptions options_;
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
