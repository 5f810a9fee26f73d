// Eviction policies: which tokens of a sequence stay in its KV cache. A policy is one file in kv/policies/ and a line
// in its registry; what a policy decides is a CachePlan, plain numbers that the attention of a step follows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/attn.h"
#include "toccata/kv_policy.h"
#include "toccata/result.h"

namespace toccata::kv {

// Positions of a text without end: what the rotations are exact for (base/exact_math.h). At 100 tokens a second it
// takes 124 days.
inline constexpr int64_t kMostPositions = int64_t{1} << 30;

class Policy;

// How a sequence's tokens lie in its block table, and what a query sees of them.
//
// While a sequence has no more than `dense` tokens, a query sees everything. Then evictions begin. Positions are
// written and attended in pieces that end at multiples of `interval`.
//
// By position (ranking null): a query sees the `sinks` first tokens, as if they stood directly before the others (the
// query's position for them is budget - 1), and the budget - sinks latest ones. The first `fixed` blocks of 32
// positions have an entry of the table each, later ones share `ring` entries in turn, so that a new token takes the
// slot of one that nobody sees any more; the ring is long enough for the tokens that the first query of a piece sees
// and the whole piece.
//
// By rank: before a piece, all but budget - 1 tokens are evicted, for each layer and KV head others (kv/ranked.h).
// Those stand in the slots of the first `kept_blocks` entries, the piece itself in the entries behind them. Layers with
// a sliding window use the same entries by position.
struct CachePlan {
  int64_t budget = 0;  // 0: everything stays, and nothing below counts
  int64_t sinks = 0;   // first tokens that always stay
  int64_t recent = 0;  // by rank: latest tokens that always stay, the next one among them
  int64_t interval = 0;
  int64_t dense = 0;
  int64_t fixed = 0, ring = 0;
  int64_t kept_blocks = 0;          // by rank
  const Policy* ranking = nullptr;  // by rank: what weighs the tokens
  bool endless = false;             // positions may pass the context that the model was trained for

  bool evicts() const { return budget > 0; }
  int64_t entry(int64_t block) const { return ring == 0 || block < fixed ? block : fixed + (block - fixed) % ring; }
  // Entries of the table that a sequence of `tokens` has.
  int64_t blocks(int64_t tokens) const {
    const int64_t all = (tokens + kernels::kKvBlock - 1) / kernels::kKvBlock;
    if (ranking && evicted(tokens)) return ring;
    return ring == 0 ? all : std::min(all, fixed + ring);
  }
  // Whether a sequence of `tokens` has lost any, or sees less of them than all.
  bool evicted(int64_t tokens) const { return evicts() && tokens > dense; }
  // Tokens of a sequence of `tokens` that its next query may see.
  int64_t kept(int64_t tokens) const {
    if (!evicted(tokens)) return tokens;
    return ranking ? budget - 1 + (tokens - 1) % interval + 1 : budget;
  }
  // Whether a block is still in its entry when `tokens` tokens have been written.
  bool holds(int64_t block, int64_t tokens) const {
    return ring == 0 || block < fixed || tokens <= (block + ring) * kernels::kKvBlock;
  }
  // Tokens of a sequence of `tokens` whose K and V are those of a sequence without a policy, and stay where they are.
  int64_t shareable(int64_t tokens) const { return !evicts() ? tokens : ranking ? 0 : std::min(tokens, dense); }
  // Tokens that may follow position `at` before something is evicted: a draft must not be longer. Where attention
  // weighs the tokens there is no way to take back what a rejected one has added.
  int64_t until_eviction(int64_t at) const {
    return !evicts() ? INT64_MAX : ranking ? 1 : at < dense ? dense - at : interval - at % interval;
  }
  // Whether a sequence of `length` tokens can go on from its first `to` as if the others had never been there.
  bool can_return(int64_t length, int64_t to) const {
    if (!evicts() || to == length) return true;
    return !ranking && (!evicted(length) || (to >= dense && to / interval == (length - 1) / interval));
  }
};

// What of the model a plan depends on.
struct ModelShape {
  int64_t longest_window = 0;  // of its sliding layers; 0: none
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;
  // Checks the rule's numbers, whose general ranges hold already. Errors: kInvalidArgument, names the number.
  virtual Result<CachePlan> plan(const KvPolicy& rule, const ModelShape& shape) const = 0;

  // By rank. The attention that tokens got from queries, summed over the query heads of a KV head, becomes what they
  // weigh against each other: the lightest go. Neither the latest tokens nor the sinks are among them.
  struct Token {
    int32_t position;
    float attention, weight;
  };
  virtual void weigh(std::span<Token>) const {}
  // Only the queries of the latest interval count; else those of all tokens.
  virtual bool by_latest_queries() const { return false; }
};

const Policy& full_policy();
const Policy& streaming_policy();
const Policy& h2o_policy();
const Policy& snapkv_policy();

// The plan of a policy by rank. Errors: kInvalidArgument, names the number.
Result<CachePlan> plan_by_rank(const Policy& policy, const KvPolicy& rule, const ModelShape& shape);

std::vector<std::string> policy_names();
// The plan of the policy that the rule names. Errors: kInvalidArgument, names what is wrong.
Result<CachePlan> make_plan(const KvPolicy& rule, const ModelShape& shape);

}  // namespace toccata::kv
