// Sharing of KV blocks between sequences that begin alike.
//
// A full block is addressed by a hash of everything its contents depend on: the salt and all tokens up to its end, as
// XXH3-128 chained over (hash of the block before, 32 tokens). The entry also keeps its own tokens and the hash before
// it, and a hit compares them, so a block with other tokens is never taken for the one that is looked up.
//
// A block becomes hittable when it is published, after the step that wrote its last token has completed; from then on
// nobody writes to it (see writable()). The cache holds one reference on each published block; a block that nobody else
// holds stands in the LRU list and is the first to go when blocks run out. Sequences release their blocks last block
// first, and a sequence that holds a block holds all blocks before it, so a block never goes before its successors.
//
// Not thread-safe: the engine's thread owns it.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kv/pool.h"

namespace toccata::kv {

struct BlockHash {
  uint64_t low = 0, high = 0;
  bool operator==(const BlockHash&) const = default;
};

BlockHash root_hash(std::string_view salt);
BlockHash chain_hash(const BlockHash& before, std::span<const int32_t> tokens);  // kKvBlock tokens

class PrefixCache {
 public:
  static constexpr int64_t kBlock = kernels::kKvBlock;

  // The pool must outlive the cache, and all its blocks must be free or held through this cache.
  explicit PrefixCache(Pool& pool);

  int64_t available() const { return pool_.free_blocks() + lru_size_; }  // blocks that allocate() can give
  int64_t cached() const { return lru_size_; }                           // hittable and held by nobody
  int64_t held() const { return pool_.capacity() - available(); }

  // A block with one reference for the caller; evicts if need be. -1 when all blocks are held.
  BlockId allocate();
  void release(BlockId block);  // the caller's reference

  // The published block of these tokens after `before`, with a reference for the caller; -1 if there is none.
  BlockId find(const BlockHash& hash, const BlockHash& before, std::span<const int32_t> tokens);
  // Makes the caller's full block hittable. If one with the same contents is there already, the caller gets that one
  // instead (its reference moves), so that equal blocks are stored once: their bits are the same.
  BlockId publish(BlockId block, const BlockHash& hash, const BlockHash& before, std::span<const int32_t> tokens);
  // Whether the block had been published and was evicted, as far as the last few evictions are remembered.
  bool was_evicted(const BlockHash& hash) const { return ghosts_.contains(hash); }

  bool published(BlockId block) const { return entry(block).published; }
  // A block that the caller alone holds and may write to: itself, or a copy in exchange for the caller's reference.
  // -1 when a copy is needed and no block is left; the caller's reference then stays.
  BlockId writable(BlockId block);

  // The same for an eviction policy, which will overwrite the block now: one that nobody else holds is no longer
  // hittable rather than copied if blocks are short.
  BlockId writable_or_taken_back(BlockId block);
  // Whether writable_or_taken_back() cannot do without a block.
  bool needs_copy(BlockId block) const { return pool_.references(block) > (published(block) ? 2 : 1); }

  // For tests: the first broken invariant in words, "" if there is none. holders: how many references sequences hold,
  // by block.
  std::string check(std::span<const int32_t> holders) const;

 private:
  struct HashOfHash {
    size_t operator()(const BlockHash& h) const { return static_cast<size_t>(h.low); }
  };
  struct Entry {
    bool published = false;
    BlockHash hash, before;
    int32_t tokens[kBlock] = {};
    BlockId newer = -1, older = -1;  // in the LRU list, while only the cache holds the block
  };
  Entry& entry(BlockId block) { return entries_[static_cast<size_t>(block)]; }
  const Entry& entry(BlockId block) const { return entries_[static_cast<size_t>(block)]; }
  bool idle(BlockId block) const { return entry(block).published && pool_.references(block) == 1; }
  bool same(const Entry& e, const BlockHash& before, std::span<const int32_t> tokens) const;
  void link(BlockId block);
  void unlink(BlockId block);
  void evict();
  void unpublish(BlockId block);

  Pool& pool_;
  std::vector<Entry> entries_;  // up to the highest block that was ever used: a huge pool costs nothing until then
  std::unordered_map<BlockHash, BlockId, HashOfHash> by_hash_;
  BlockId newest_ = -1, oldest_ = -1;
  int64_t lru_size_ = 0;
  std::unordered_set<BlockHash, HashOfHash> ghosts_;  // evicted, the latest `capacity` ones
  std::deque<BlockHash> ghost_order_;
};

}  // namespace toccata::kv
