// The first tokens and the latest ones: StreamingLLM (Xiao et al. 2024). Positions count inside the cache, so a text
// may go on past the trained context. With no sinks it is a plain sliding window.
//
// Keys stay rotated at their absolute positions. Among the latest tokens only differences of positions count, and
// those are the same inside the cache; for the sinks a query is rotated a second time, to its position in the cache.
#include <algorithm>

#include "kv/policy.h"

namespace toccata::kv {
namespace {

constexpr int64_t kBlock = kernels::kKvBlock;

class Streaming final : public Policy {
 public:
  std::string_view name() const override { return "streaming"; }

  Result<CachePlan> plan(const KvPolicy& rule, const ModelShape& shape) const override {
    CachePlan plan;
    plan.budget = rule.budget > 0 ? rule.budget : rule.recent > 0 ? rule.sinks + rule.recent : 0;
    if (plan.budget == 0) {
      return fail(ErrorCode::kInvalidArgument, "the KV policy streaming needs a budget, the tokens to keep");
    }
    if (rule.sinks >= plan.budget) {
      return fail(ErrorCode::kInvalidArgument, "the KV budget of " + std::to_string(plan.budget) +
                                                   " tokens has no room beside " + std::to_string(rule.sinks) +
                                                   " sinks");
    }
    if (rule.recent > 0 && rule.sinks + rule.recent != plan.budget) {
      return fail(ErrorCode::kInvalidArgument, "the KV policy streaming keeps sinks + recent tokens, and " +
                                                   std::to_string(rule.sinks) + " + " + std::to_string(rule.recent) +
                                                   " is not the budget of " + std::to_string(plan.budget));
    }
    plan.sinks = rule.sinks;
    plan.dense = plan.budget;
    plan.interval = rule.interval;
    plan.endless = true;
    plan.fixed = (rule.sinks + kBlock - 1) / kBlock;
    // A piece that begins at p and has at most `interval` tokens takes the slots of positions up to
    // p + interval - 1 - 32 ring; its first query sees those from p - window + 1 on.
    const int64_t window = std::max(plan.budget - plan.sinks, shape.longest_window);
    plan.ring = (window + plan.interval - 1 + kBlock - 1) / kBlock;
    return plan;
  }
};

}  // namespace

const Policy& streaming_policy() {
  static const Streaming policy;
  return policy;
}

}  // namespace toccata::kv
