// The latest tokens, and of the others those that the latest queries look at: SnapKV (Li et al. 2024). A token weighs
// as much as the heaviest of its neighbours in the text, so that what is kept are passages.
//
// The paper lets the last queries of a prompt vote once, on a cache that holds the whole prompt. Here the cache is
// bounded while the prompt is read, so the vote is repeated at every eviction, by the queries since the one before.
#include <algorithm>

#include "kv/policy.h"

namespace toccata::kv {
namespace {

constexpr int32_t kNeighbours = 3;  // to each side: a pool of 7 positions

class SnapKv final : public Policy {
 public:
  std::string_view name() const override { return "snapkv"; }
  Result<CachePlan> plan(const KvPolicy& rule, const ModelShape& shape) const override {
    return plan_by_rank(*this, rule, shape);
  }
  bool by_latest_queries() const override { return true; }
  void weigh(std::span<Token> tokens) const override {
    std::sort(tokens.begin(), tokens.end(), [](const Token& a, const Token& b) { return a.position < b.position; });
    for (size_t i = 0, first = 0; i < tokens.size(); ++i) {
      while (tokens[first].position < tokens[i].position - kNeighbours) ++first;
      tokens[i].weight = tokens[i].attention;
      for (size_t j = first; j < tokens.size() && tokens[j].position <= tokens[i].position + kNeighbours; ++j) {
        tokens[i].weight = std::max(tokens[i].weight, tokens[j].attention);
      }
    }
  }
};

}  // namespace

const Policy& snapkv_policy() {
  static const SnapKv policy;
  return policy;
}

}  // namespace toccata::kv
