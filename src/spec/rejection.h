// Rejection verification of drafted tokens: what comes out has exactly the target's distribution, whoever drafted
// (Y. Leviathan, M. Kalman, Y. Matias, "Fast inference from transformers via speculative decoding", ICML 2023; C. Chen
// et al., "Accelerating large language model decoding with speculative sampling", 2023).
//
// A token x was drafted from q where the target wants p: it is kept with probability min(1, p(x) / q(x)), else a token
// is drawn from the residual max(0, p - q), normalised. The draft gives min(p, q); a token is rejected with probability
// r = 1 - sum of min(p, q) = sum of max(0, p - q), so the rest gives r * max(0, p - q) / r; together that is p. Behind
// a draft that was kept whole one more token is drawn from p.
//
// Several tokens for one position (a tree; X. Miao et al., "SpecInfer", ASPLOS 2024) are tried in turn, each against
// what the rejections before it left of p. Each may depend on its siblings before it: with them rejected it is again a
// draft from its q for a target of that residual.
//
// Pure: all chance comes from (seed, position). What must hold for the proof: q is the distribution that x was really
// drawn from, by random numbers that are used for nothing else at this position; Purpose::kAccept is taken here, so
// those of a plain draw at that position (kToken) are free for the draft. Whether a position is drafted may depend on
// earlier tokens, not on the numbers of that position.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sampling/sampler.h"

namespace toccata::spec {

// Probabilities of tokens, by ascending id; a token that is not listed has none.
class Distribution {
 public:
  struct Entry {
    int32_t token = -1;
    double p = 0;
  };
  // Candidates in any order, with weights above 0 as Sampler::distribution() gives them. Not empty, no token twice.
  explicit Distribution(std::span<const Candidate> candidates);
  // One token, without chance: a deterministic draft, or a greedy target.
  static Distribution certain(int32_t token);
  // What `sampler` draws from at this position, after its whole pipeline; certain where it has no choice.
  static Distribution of(const Sampler& sampler, std::span<const float> logits, std::span<const int32_t> history,
                         int64_t position, SamplerScratch& scratch);

  double operator[](int32_t token) const;
  std::span<const Entry> entries() const { return entries_; }
  int32_t draw(double u) const;  // by the inverse of the cumulated probabilities, 0 <= u < 1

  // Becomes the residual max(0, p - q), normalised. Stays as it is if nothing is left, which a rejection excludes but
  // for rounding.
  void subtract(const Distribution& q);

 private:
  Distribution() = default;
  std::vector<Entry> entries_;
};

// A token that was proposed for one position.
struct Proposal {
  int32_t token = -1;
  const Distribution* q = nullptr;  // that it was drawn from; null: certain(token)
};

struct Verdict {
  int kept = -1;  // which of the proposals; -1: none, and the token is the target's own
  int32_t token = -1;
};

// Decides one position. Without proposals it is a draw from p.
Verdict verify(std::span<const Proposal> proposals, Distribution p, uint64_t seed, int64_t position);

// One token of a draft; in a chain each one's parent is the one before.
struct DraftNode {
  Proposal proposal;
  int parent = -1;  // its index, below the node's own; -1: the first position
};

// Decides a whole draft, `position` being that of its first tokens. target(node) gives p behind that node (-1: before
// the draft); it is called along the path that is kept, in order. kept: out, the nodes of that path. Returns the token
// behind them: the correction, or the one after the whole draft.
int32_t verify_draft(std::span<const DraftNode> draft, const std::function<Distribution(int node)>& target,
                     uint64_t seed, int64_t position, std::vector<int>& kept);

}  // namespace toccata::spec
