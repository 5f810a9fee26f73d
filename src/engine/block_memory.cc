#include "engine/block_memory.h"

#include <algorithm>
#include <span>

#include "base/check.h"

namespace toccata::engine {
namespace {

constexpr int64_t kBlock = kv::PrefixCache::kBlock;

int64_t blocks_for(int64_t tokens) { return (tokens + kBlock - 1) / kBlock; }

std::span<const int32_t> block_tokens_of(const Sequence& s, size_t block) {
  return std::span(s.tokens).subspan(block * static_cast<size_t>(kBlock), static_cast<size_t>(kBlock));
}

}  // namespace

void BlockMemory::hash_up_to(Sequence& s, size_t blocks) const {
  while (s.hashes.size() < blocks) {
    const size_t i = s.hashes.size();
    s.hashes.push_back(kv::chain_hash(before(s, i), block_tokens_of(s, i)));
  }
}

// Why the prompt's first token that was not found must be computed.
void BlockMemory::explain(Sequence& s, size_t blocks_found, size_t blocks_wanted) {
  RequestReport& r = s.report;
  r.cached_tokens = s.computed;
  if (r.cached_tokens == s.prompt_size - 1) {
    r.cache_miss = CacheMiss::kNone;
  } else if (!enabled_ || s.request.prompt_logprobs >= 0 || s.plan.ranking) {
    r.cache_miss = CacheMiss::kDisabled;
  } else if (blocks_found == blocks_wanted) {
    r.cache_miss = CacheMiss::kPartial;
  } else {
    r.cache_miss = cache_.was_evicted(s.hashes[blocks_found]) ? CacheMiss::kEvicted : CacheMiss::kCold;
  }
}

void BlockMemory::count_admission(const Sequence& s) {
  queries_ += static_cast<uint64_t>(s.prompt_size);
  hits_ += static_cast<uint64_t>(s.report.cached_tokens);
}

int64_t BlockMemory::attach(sched::SequenceId id) {
  Sequence& s = at(id);
  TOCCATA_CHECK(s.blocks.empty() && s.computed == 0);
  if (s.ranked) s.ranked->clear();
  const int64_t known = static_cast<int64_t>(s.tokens.size());
  // Rows whose logits are still wanted must be computed; of the others all but the last.
  const int64_t most = !enabled_ ? 0 : s.wants_prompt_scores() ? s.scored : known - 1;
  const size_t wanted = std::min(static_cast<size_t>(blocks_for(most)), s.shareable(known));
  for (size_t i = 0; i < wanted; ++i) {
    hash_up_to(s, i + 1);
    const kv::BlockId block = cache_.find(s.hashes[i], before(s, i), block_tokens_of(s, i));
    if (block < 0) break;
    s.blocks.push_back(block);
  }
  s.computed = std::min(most, static_cast<int64_t>(s.blocks.size()) * kBlock);
  s.published = s.blocks.size();
  if (!s.started()) explain(s, s.blocks.size(), wanted);
  return s.computed;
}

template <class F>
void BlockMemory::for_shared(const Sequence& s, int64_t tokens, F f) const {
  const int64_t first = s.computed / kBlock;
  int64_t end = blocks_for(tokens);
  if (s.plan.evicts()) end = std::min(end, std::max(first, s.plan.fixed) + s.plan.ring);  // once around the ring
  for (int64_t b = first; b < end; ++b) {
    const auto entry = static_cast<size_t>(s.plan.entry(b));
    if (entry < s.blocks.size() && cache_.published(s.blocks[entry])) f(entry);
  }
}

int64_t BlockMemory::needed(sched::SequenceId id, int64_t tokens) const {
  const Sequence& s = at(id);
  int64_t count = std::max<int64_t>(0, s.plan.blocks(tokens) - std::ssize(s.blocks));
  for_shared(s, tokens, [&](size_t entry) {
    if (!s.plan.evicts() || cache_.needs_copy(s.blocks[entry])) ++count;
  });
  return count;
}

bool BlockMemory::reserve(sched::SequenceId id, int64_t tokens) {
  if (needed(id, tokens) > cache_.available()) return false;
  Sequence& s = at(id);
  // First the blocks that cannot be done without, so that a copy that can takes none of them.
  std::vector<size_t> overwritten;
  for_shared(s, tokens, [&](size_t entry) {
    if (s.plan.evicts() && !cache_.needs_copy(s.blocks[entry])) {
      overwritten.push_back(entry);
      return;
    }
    s.blocks[entry] = cache_.writable(s.blocks[entry]);
    TOCCATA_CHECK(s.blocks[entry] >= 0);
  });
  while (std::ssize(s.blocks) < s.plan.blocks(tokens)) {
    const kv::BlockId block = cache_.allocate();
    TOCCATA_CHECK(block >= 0);
    s.blocks.push_back(block);
  }
  for (size_t entry : overwritten) s.blocks[entry] = cache_.writable_or_taken_back(s.blocks[entry]);
  s.published = std::min(s.published, static_cast<size_t>(s.computed / kBlock));
  return true;
}

void BlockMemory::release(sched::SequenceId id) {
  Sequence& s = at(id);
  for (; !s.blocks.empty(); s.blocks.pop_back()) cache_.release(s.blocks.back());
  s.computed = 0;
  s.published = 0;
}

void BlockMemory::computed(Sequence& s, int64_t count) {
  s.computed += count;
  if (!enabled_) return;
  for (; s.published < s.shareable(s.computed); ++s.published) {
    if (!s.plan.holds(static_cast<int64_t>(s.published), s.computed)) continue;
    hash_up_to(s, s.published + 1);
    kv::BlockId& block = s.blocks[s.published];
    block = cache_.publish(block, s.hashes[s.published], before(s, s.published), block_tokens_of(s, s.published));
  }
}

void BlockMemory::trim(Sequence& s) {
  const int64_t kept = s.plan.blocks(std::ssize(s.tokens));
  for (; std::ssize(s.blocks) > kept; s.blocks.pop_back()) cache_.release(s.blocks.back());
}

std::string BlockMemory::check() const {
  std::vector<int32_t> holders(static_cast<size_t>(cache_.held() + cache_.available()), 0);
  for (const auto& [id, s] : sequences_) {
    for (kv::BlockId b : s->blocks) ++holders[static_cast<size_t>(b)];
    if (s->plan.blocks(s->computed) > std::ssize(s->blocks)) return "tokens without a block";
    if (std::ssize(s->blocks) > s->plan.blocks(INT64_MAX / 2)) return "more blocks than the policy allows";
  }
  return cache_.check(holders);
}

}  // namespace toccata::engine
