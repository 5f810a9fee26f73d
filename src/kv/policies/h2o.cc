// The latest tokens, and of the others those that got most attention so far: H2O (Zhang et al. 2023). Sums over all
// queries, as in the paper.
#include "kv/policy.h"

namespace toccata::kv {
namespace {

class H2o final : public Policy {
 public:
  std::string_view name() const override { return "h2o"; }
  Result<CachePlan> plan(const KvPolicy& rule, const ModelShape& shape) const override {
    return plan_by_rank(*this, rule, shape);
  }
  void weigh(std::span<Token> tokens) const override {
    for (Token& t : tokens) t.weight = t.attention;
  }
};

}  // namespace

const Policy& h2o_policy() {
  static const H2o policy;
  return policy;
}

}  // namespace toccata::kv
