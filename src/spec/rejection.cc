#include "spec/rejection.h"

#include <algorithm>

#include "base/check.h"
#include "base/rng.h"

namespace toccata::spec {
namespace {

bool by_token(const Distribution::Entry& a, const Distribution::Entry& b) { return a.token < b.token; }

// False if there is nothing to normalise.
bool normalise(std::vector<Distribution::Entry>& entries) {
  double total = 0;
  for (const Distribution::Entry& e : entries) total += e.p;
  if (!(total > 0)) return false;
  for (Distribution::Entry& e : entries) e.p /= total;
  return true;
}

// The numbers of a position: 0 for the target's own draw, then one per proposal.
double chance(uint64_t seed, int64_t position, size_t index) {
  return rng::uniform(seed, static_cast<uint64_t>(position), rng::Purpose::kAccept, static_cast<uint32_t>(index));
}

}  // namespace

Distribution::Distribution(std::span<const Candidate> candidates) {
  entries_.reserve(candidates.size());
  for (const Candidate& c : candidates) entries_.push_back({c.token, c.weight});
  // The order of the sums: a distribution has the same bits whatever the order of its candidates.
  if (!std::is_sorted(entries_.begin(), entries_.end(), by_token)) {
    std::sort(entries_.begin(), entries_.end(), by_token);
  }
  TOCCATA_CHECK(normalise(entries_));
}

Distribution Distribution::certain(int32_t token) {
  Distribution d;
  d.entries_.push_back({token, 1.0});
  return d;
}

Distribution Distribution::of(const Sampler& sampler, std::span<const float> logits, std::span<const int32_t> history,
                              int64_t position, SamplerScratch& scratch) {
  std::vector<Candidate>& candidates = scratch.candidates;
  sampler.distribution(logits, history, scratch, candidates);
  if (candidates.empty()) return certain(sampler.sample(logits, history, position, scratch).token);
  return Distribution(candidates);
}

double Distribution::operator[](int32_t token) const {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), Entry{token, 0}, by_token);
  return at != entries_.end() && at->token == token ? at->p : 0.0;
}

int32_t Distribution::draw(double u) const {
  double below = 0;
  int32_t last = -1;  // with a probability: where rounding leaves the sum below u
  for (const Entry& e : entries_) {
    if (e.p > 0) last = e.token;
    below += e.p;
    if (u < below) return e.token;
  }
  return last;
}

void Distribution::subtract(const Distribution& q) {
  std::vector<Entry> rest;
  rest.reserve(entries_.size());
  auto at = q.entries_.begin();
  for (const Entry& e : entries_) {
    while (at != q.entries_.end() && at->token < e.token) ++at;
    const double taken = at != q.entries_.end() && at->token == e.token ? at->p : 0.0;
    if (e.p > taken) rest.push_back({e.token, e.p - taken});
  }
  if (normalise(rest)) entries_ = std::move(rest);
}

Verdict verify(std::span<const Proposal> proposals, Distribution p, uint64_t seed, int64_t position) {
  for (size_t i = 0; i < proposals.size(); ++i) {
    const auto [token, q] = proposals[i];
    const double drafted = q ? (*q)[token] : 1.0;
    TOCCATA_CHECK(drafted > 0);
    if (chance(seed, position, i + 1) * drafted < p[token]) return {static_cast<int>(i), token};
    p.subtract(q ? *q : Distribution::certain(token));
  }
  return {-1, p.draw(chance(seed, position, 0))};
}

int32_t verify_draft(std::span<const DraftNode> draft, const std::function<Distribution(int node)>& target,
                     uint64_t seed, int64_t position, std::vector<int>& kept) {
  kept.clear();
  std::vector<Proposal> proposals;
  std::vector<int> nodes;
  for (int node = -1;;) {
    proposals.clear();
    nodes.clear();
    for (size_t i = static_cast<size_t>(node + 1); i < draft.size(); ++i) {
      TOCCATA_CHECK(draft[i].parent < static_cast<int>(i));
      if (draft[i].parent != node) continue;
      proposals.push_back(draft[i].proposal);
      nodes.push_back(static_cast<int>(i));
    }
    const Verdict verdict = verify(proposals, target(node), seed, position + std::ssize(kept));
    if (verdict.kept < 0) return verdict.token;
    node = nodes[static_cast<size_t>(verdict.kept)];
    kept.push_back(node);
  }
}

}  // namespace toccata::spec
