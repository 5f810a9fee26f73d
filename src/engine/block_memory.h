// The sequences' blocks in the KV pool, as the scheduler sees them (sched/memory.h) and as a step needs them.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "engine/sequence.h"
#include "kv/prefix_cache.h"
#include "sched/memory.h"

namespace toccata::engine {

class BlockMemory final : public sched::Memory {
 public:
  BlockMemory(kv::Pool& pool, bool prefix_caching) : cache_(pool), enabled_(prefix_caching) {}

  void add(Sequence* sequence) { sequences_.emplace(sequence->id, sequence); }
  void remove(RequestId id) { sequences_.erase(id); }

  int64_t block_tokens() const override { return kv::PrefixCache::kBlock; }
  int64_t available() const override { return cache_.available(); }
  int64_t attach(sched::SequenceId id) override;
  int64_t needed(sched::SequenceId id, int64_t tokens) const override;
  bool reserve(sched::SequenceId id, int64_t tokens) override;
  void release(sched::SequenceId id) override;

  void count_admission(const Sequence& s);  // the first one
  // `count` more tokens of the sequence were computed by a completed step: full blocks become hittable.
  void computed(Sequence& s, int64_t count);
  // Gives back the blocks that the sequence's known tokens do not need: those of a draft that was wrong.
  void trim(Sequence& s);

  const kv::PrefixCache& cache() const { return cache_; }
  uint64_t queries() const { return queries_; }  // prompt tokens looked up at first admission
  uint64_t hits() const { return hits_; }        // found

  std::string check() const;  // for tests: the first broken invariant, "" if there is none

 private:
  Sequence& at(sched::SequenceId id) const { return *sequences_.at(id); }
  void hash_up_to(Sequence& s, size_t blocks) const;
  const kv::BlockHash& before(const Sequence& s, size_t block) const { return block ? s.hashes[block - 1] : s.root; }
  void explain(Sequence& s, size_t blocks_found, size_t blocks_wanted);
  // Calls f(block of the table) for each block that positions [computed, tokens) go to and that must not be written to
  // as it is: others hold it, or it is hittable.
  template <class F>
  void for_shared(const Sequence& s, int64_t tokens, F f) const;

  kv::PrefixCache cache_;
  const bool enabled_;
  std::unordered_map<RequestId, Sequence*> sequences_;
  uint64_t queries_ = 0, hits_ = 0;
};

}  // namespace toccata::engine
