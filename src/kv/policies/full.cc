// Everything stays.
#include "kv/policy.h"

namespace toccata::kv {
namespace {

class Full final : public Policy {
 public:
  std::string_view name() const override { return "full"; }
  Result<CachePlan> plan(const KvPolicy&, const ModelShape&) const override { return CachePlan(); }
};

}  // namespace

const Policy& full_policy() {
  static const Full policy;
  return policy;
}

}  // namespace toccata::kv
