#include "kv/prefix_cache.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace toccata::kv {

BlockHash root_hash(std::string_view salt) {
  const XXH128_hash_t h = XXH3_128bits_withSeed(salt.data(), salt.size(), 0x746f6363617461ull);
  return {h.low64, h.high64};
}

BlockHash chain_hash(const BlockHash& before, std::span<const int32_t> tokens) {
  TOCCATA_CHECK(tokens.size() == static_cast<size_t>(PrefixCache::kBlock));
  struct {
    BlockHash before;
    int32_t tokens[PrefixCache::kBlock];
  } input;
  static_assert(sizeof(input) == sizeof(BlockHash) + 4 * PrefixCache::kBlock, "no padding is hashed");
  input.before = before;
  std::copy(tokens.begin(), tokens.end(), input.tokens);
  const XXH128_hash_t h = XXH3_128bits(&input, sizeof(input));
  return {h.low64, h.high64};
}

PrefixCache::PrefixCache(Pool& pool) : pool_(pool) {}

void PrefixCache::link(BlockId block) {
  Entry& e = entry(block);
  e.newer = -1;
  e.older = newest_;
  if (newest_ >= 0) entry(newest_).newer = block;
  newest_ = block;
  if (oldest_ < 0) oldest_ = block;
  ++lru_size_;
}

void PrefixCache::unlink(BlockId block) {
  Entry& e = entry(block);
  (e.newer >= 0 ? entry(e.newer).older : newest_) = e.older;
  (e.older >= 0 ? entry(e.older).newer : oldest_) = e.newer;
  e.newer = e.older = -1;
  --lru_size_;
}

void PrefixCache::evict() {
  const BlockId block = oldest_;
  unlink(block);
  unpublish(block);
}

void PrefixCache::unpublish(BlockId block) {
  Entry& e = entry(block);
  by_hash_.erase(e.hash);
  e.published = false;
  if (ghosts_.insert(e.hash).second) ghost_order_.push_back(e.hash);
  if (std::ssize(ghost_order_) > pool_.capacity()) {
    ghosts_.erase(ghost_order_.front());
    ghost_order_.pop_front();
  }
  pool_.release(block);
}

BlockId PrefixCache::allocate() {
  if (pool_.free_blocks() == 0) {
    if (lru_size_ == 0) return -1;
    evict();
  }
  const Result<BlockId> block = pool_.allocate();
  TOCCATA_CHECK(block.has_value());
  if (static_cast<size_t>(*block) >= entries_.size()) entries_.resize(static_cast<size_t>(*block) + 1);
  return *block;
}

void PrefixCache::release(BlockId block) {
  pool_.release(block);
  if (idle(block)) link(block);
}

bool PrefixCache::same(const Entry& e, const BlockHash& before, std::span<const int32_t> tokens) const {
  return e.before == before && std::equal(tokens.begin(), tokens.end(), e.tokens, e.tokens + kBlock);
}

BlockId PrefixCache::find(const BlockHash& hash, const BlockHash& before, std::span<const int32_t> tokens) {
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end() || !same(entry(found->second), before, tokens)) return -1;
  if (idle(found->second)) unlink(found->second);
  pool_.retain(found->second);
  return found->second;
}

BlockId PrefixCache::publish(BlockId block, const BlockHash& hash, const BlockHash& before,
                             std::span<const int32_t> tokens) {
  TOCCATA_CHECK(tokens.size() == static_cast<size_t>(kBlock));
  if (published(block)) return block;
  const BlockId twin = find(hash, before, tokens);
  if (twin >= 0) {
    release(block);
    return twin;
  }
  if (!by_hash_.emplace(hash, block).second) return block;  // two contents with one hash: the first stays
  Entry& e = entry(block);
  e.published = true;
  e.hash = hash;
  e.before = before;
  std::copy(tokens.begin(), tokens.end(), e.tokens);
  pool_.retain(block);
  return block;
}

BlockId PrefixCache::writable(BlockId block) {
  if (!published(block) && pool_.references(block) == 1) return block;
  const BlockId copy = allocate();
  if (copy < 0) return -1;
  pool_.copy(block, copy);
  release(block);
  return copy;
}

BlockId PrefixCache::writable_or_taken_back(BlockId block) {
  if (needs_copy(block) || !published(block) || available() > 0) return writable(block);
  unpublish(block);
  return block;
}

std::string PrefixCache::check(std::span<const int32_t> holders) const {
  const auto at = [](const char* what, BlockId b) { return std::string(what) + ", block " + std::to_string(b); };
  int64_t free = 0, published = 0, idle_blocks = 0;
  for (BlockId b = 0; b < pool_.capacity(); ++b) {
    if (static_cast<size_t>(b) >= entries_.size()) {  // never used
      if (pool_.references(b) != 0) return at("references", b);
      ++free;
      continue;
    }
    const Entry& e = entry(b);
    if (pool_.references(b) != holders[static_cast<size_t>(b)] + (e.published ? 1 : 0)) return at("references", b);
    if (pool_.references(b) == 0) ++free;
    if (idle(b)) ++idle_blocks;
    if (!e.published) continue;
    ++published;
    const auto found = by_hash_.find(e.hash);
    if (found == by_hash_.end() || found->second != b) return at("not found by its hash", b);
    if (chain_hash(e.before, e.tokens) != e.hash) return at("hash of other tokens", b);
  }
  if (free != pool_.free_blocks()) return "the free list";
  if (published != static_cast<int64_t>(by_hash_.size())) return "the table of hashes";
  int64_t linked = 0;
  for (BlockId b = newest_, newer = -1; b >= 0; newer = b, b = entry(b).older, ++linked) {
    if (!idle(b) || entry(b).newer != newer || linked > pool_.capacity()) return at("the LRU list", b);
    if (entry(b).older < 0 && oldest_ != b) return at("the LRU list's end", b);
  }
  if (linked != idle_blocks || linked != lru_size_) return "the LRU list's length";
  if (ghosts_.size() != ghost_order_.size()) return "the memory of evictions";
  return "";
}

}  // namespace toccata::kv
