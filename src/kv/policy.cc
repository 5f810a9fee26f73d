#include "kv/policy.h"

#include <string>

namespace toccata::kv {
namespace {

constexpr int64_t kMostTokens = int64_t{1} << 40;
constexpr int64_t kLongestInterval = 512;
constexpr int64_t kMostRanked = 32768;  // bounds the weights of a query's keys that attention holds

std::vector<const Policy*> registry() { return {&full_policy(), &streaming_policy(), &h2o_policy(), &snapkv_policy()}; }

Status check_range(const char* what, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return {};
  return fail(ErrorCode::kInvalidArgument, std::string(what) + " must be " + std::to_string(low) + " to " +
                                               std::to_string(high) + ", not " + std::to_string(value));
}

Error misfit(const Policy& policy, const std::string& what) {
  return {ErrorCode::kInvalidArgument, "the KV policy " + std::string(policy.name()) + " " + what};
}

int64_t blocks_of(int64_t tokens) { return (tokens + kernels::kKvBlock - 1) / kernels::kKvBlock; }

}  // namespace

Result<CachePlan> plan_by_rank(const Policy& policy, const KvPolicy& rule, const ModelShape& shape) {
  CachePlan plan;
  plan.budget = rule.budget;
  plan.sinks = rule.sinks;
  plan.interval = rule.interval;
  plan.ranking = &policy;
  if (plan.budget < 1) return tl::unexpected(misfit(policy, "needs a budget, the tokens to keep"));
  if (plan.budget > kMostRanked) {
    return tl::unexpected(misfit(policy, "takes a budget of at most " + std::to_string(kMostRanked) + " tokens"));
  }
  if (!(rule.heavy_ratio >= 0 && rule.heavy_ratio <= 1)) {
    return tl::unexpected(misfit(policy, "takes a heavy ratio of 0 to 1"));
  }
  const auto heavy = static_cast<int64_t>(static_cast<double>(plan.budget) * static_cast<double>(rule.heavy_ratio));
  plan.recent = rule.recent > 0 ? rule.recent : std::max<int64_t>(1, plan.budget - heavy);
  if (plan.sinks + plan.recent > plan.budget) {
    return tl::unexpected(misfit(policy, "keeps " + std::to_string(plan.sinks) + " sinks and " +
                                             std::to_string(plan.recent) + " recent tokens, more than the budget of " +
                                             std::to_string(plan.budget)));
  }
  plan.dense = (plan.budget + plan.interval - 1) / plan.interval * plan.interval;
  plan.kept_blocks = blocks_of(plan.budget - 1);
  plan.ring = std::max(plan.kept_blocks + blocks_of(plan.interval),
                       shape.longest_window > 0 ? blocks_of(shape.longest_window + plan.interval - 1) : 0);
  return plan;
}

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const Policy* p : registry()) names.emplace_back(p->name());
  return names;
}

Result<CachePlan> make_plan(const KvPolicy& rule, const ModelShape& shape) {
  if (Status s = check_range("the KV budget", rule.budget, 0, kMostTokens); !s) return tl::unexpected(s.error());
  if (Status s = check_range("the KV sinks", rule.sinks, 0, kMostTokens); !s) return tl::unexpected(s.error());
  if (Status s = check_range("the recent KV tokens", rule.recent, 0, kMostTokens); !s) return tl::unexpected(s.error());
  if (Status s = check_range("the KV eviction interval", rule.interval, 1, kLongestInterval); !s) {
    return tl::unexpected(s.error());
  }
  std::string names;
  for (const Policy* p : registry()) {
    if (p->name() == rule.name) return p->plan(rule, shape);
    names += (names.empty() ? "" : ", ") + std::string(p->name());
  }
  return fail(ErrorCode::kInvalidArgument, "there is no such KV policy; there are " + names);
}

}  // namespace toccata::kv
