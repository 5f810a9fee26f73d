#include "kv/prefix_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

namespace toccata::kv {
namespace {

constexpr size_t kBlock = static_cast<size_t>(PrefixCache::kBlock);

std::vector<int32_t> tokens_of(unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<int32_t> tokens(kBlock);
  for (int32_t& t : tokens) t = static_cast<int32_t>(rng() % 1000);
  return tokens;
}

struct Rig {
  Pool pool;
  PrefixCache cache;
  std::vector<int32_t> holders;
  explicit Rig(int64_t blocks)
      : pool(*Pool::create({2, 1, 8, DType::kF32, DType::kF16}, blocks)),
        cache(pool),
        holders(static_cast<size_t>(blocks)) {}

  BlockId take() {
    const BlockId b = cache.allocate();
    if (b >= 0) ++holders[static_cast<size_t>(b)];
    return b;
  }
  void release(BlockId b) {
    --holders[static_cast<size_t>(b)];
    cache.release(b);
  }
  // A new block with these tokens after `before`, published and then released.
  BlockHash store(const BlockHash& before, unsigned seed) {
    const auto tokens = tokens_of(seed);
    const BlockHash hash = chain_hash(before, tokens);
    const BlockId b = cache.publish(take(), hash, before, tokens);
    release(b);
    return hash;
  }
  BlockId find(const BlockHash& before, unsigned seed) {
    const auto tokens = tokens_of(seed);
    const BlockId b = cache.find(chain_hash(before, tokens), before, tokens);
    if (b >= 0) ++holders[static_cast<size_t>(b)];
    return b;
  }
};

TEST(PrefixHash, DependsOnSaltOrderAndEveryToken) {
  const BlockHash a = root_hash(""), b = root_hash("tenant");
  EXPECT_NE(a, b);
  const auto x = tokens_of(1), y = tokens_of(2);
  EXPECT_NE(chain_hash(a, x), chain_hash(b, x));
  EXPECT_NE(chain_hash(chain_hash(a, x), y), chain_hash(chain_hash(a, y), x));
  for (size_t i = 0; i < kBlock; ++i) {
    auto z = x;
    z[i] ^= 1;
    EXPECT_NE(chain_hash(a, x), chain_hash(a, z));
  }
}

TEST(PrefixCache, FindsWhatWasPublishedAndEvictsTheOldest) {
  Rig rig(4);
  const BlockHash root = root_hash("");
  EXPECT_EQ(rig.find(root, 1), -1);
  const BlockHash one = rig.store(root, 1);
  rig.store(one, 2);
  rig.store(root, 3);
  EXPECT_EQ(rig.cache.cached(), 3);
  EXPECT_EQ(rig.cache.available(), 4);
  EXPECT_EQ(rig.cache.held(), 0);
  const BlockId held = rig.find(root, 1);  // used again: now 2 is the oldest
  ASSERT_GE(held, 0);
  EXPECT_EQ(rig.cache.held(), 1);
  EXPECT_GE(rig.take(), 0);  // the free one
  EXPECT_GE(rig.take(), 0);  // evicts 2
  EXPECT_EQ(rig.find(one, 2), -1);
  EXPECT_TRUE(rig.cache.was_evicted(chain_hash(one, tokens_of(2))));
  EXPECT_FALSE(rig.cache.was_evicted(chain_hash(one, tokens_of(9))));
  EXPECT_GE(rig.take(), 0);   // evicts 3
  EXPECT_EQ(rig.take(), -1);  // 1 is held
  rig.release(held);
  EXPECT_GE(rig.take(), 0);
  EXPECT_EQ(rig.cache.check(rig.holders), "");
}

TEST(PrefixCache, StoresEqualBlocksOnce) {
  Rig rig(4);
  const BlockHash root = root_hash("");
  const auto tokens = tokens_of(1);
  const BlockHash hash = chain_hash(root, tokens);
  const BlockId a = rig.take(), b = rig.take();
  EXPECT_EQ(rig.cache.publish(a, hash, root, tokens), a);
  EXPECT_EQ(rig.cache.publish(b, hash, root, tokens), a);
  --rig.holders[static_cast<size_t>(b)];
  ++rig.holders[static_cast<size_t>(a)];
  EXPECT_EQ(rig.pool.references(a), 3);  // twice by its users, once by the cache
  EXPECT_EQ(rig.pool.references(b), 0);
  EXPECT_EQ(rig.cache.check(rig.holders), "");
}

TEST(PrefixCache, TakesNoBlockWithOtherTokensForAHit) {
  Rig rig(4);
  const BlockHash root = root_hash("");
  const BlockHash hash = rig.store(root, 1);
  EXPECT_EQ(rig.cache.find(hash, root, tokens_of(2)), -1);  // as if the hashes collided
  EXPECT_EQ(rig.cache.find(hash, root_hash("x"), tokens_of(1)), -1);
  const BlockId other = rig.take();
  EXPECT_EQ(rig.cache.publish(other, hash, root, tokens_of(2)), other);
  EXPECT_FALSE(rig.cache.published(other));
  EXPECT_EQ(rig.cache.check(rig.holders), "");
}

TEST(PrefixCache, CopiesASharedBlockBeforeAWrite) {
  Rig rig(3);
  const BlockHash root = root_hash("");
  rig.store(root, 1);
  const BlockId shared = rig.find(root, 1);
  for (int layer = 0; layer < 2; ++layer) {
    std::memset(rig.pool.head(layer, shared, 0), 17 + layer, rig.pool.layout().block_bytes());
  }
  const BlockId own = rig.cache.writable(shared);
  --rig.holders[static_cast<size_t>(shared)];
  ++rig.holders[static_cast<size_t>(own)];
  ASSERT_NE(own, shared);
  for (int layer = 0; layer < 2; ++layer) {
    EXPECT_EQ(
        std::memcmp(rig.pool.head(layer, own, 0), rig.pool.head(layer, shared, 0), rig.pool.layout().block_bytes()), 0);
  }
  EXPECT_EQ(rig.cache.writable(own), own);
  EXPECT_EQ(rig.cache.check(rig.holders), "");
  const BlockId again = rig.find(root, 1);
  rig.take();
  EXPECT_EQ(rig.cache.writable(again), -1);  // no block for the copy: nothing changes
  EXPECT_EQ(rig.cache.check(rig.holders), "");
}

// Random takes, publications, releases and look-ups against a plain model of what must be held.
TEST(PrefixCache, KeepsItsInvariantsUnderRandomUse) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 rng(seed);
    Rig rig(3 + static_cast<int64_t>(rng() % 12));
    const BlockHash root = root_hash("");
    std::vector<BlockId> held;
    for (int i = 0; i < 400; ++i) {
      const auto what = static_cast<unsigned>(rng() % 24);
      const int64_t before = rig.cache.held();
      if (rng() % 2 == 0) {
        BlockId b = rng() % 2 == 0 ? rig.find(root, what) : rig.take();
        if (b >= 0 && !rig.cache.published(b)) {
          const auto tokens = tokens_of(what);
          const BlockId now = rig.cache.publish(b, chain_hash(root, tokens), root, tokens);
          --rig.holders[static_cast<size_t>(b)];
          ++rig.holders[static_cast<size_t>(now)];
          b = now;
        }
        if (b >= 0) held.push_back(b);
        EXPECT_LE(rig.cache.held(), before + 1);
      } else if (!held.empty()) {
        const size_t k = rng() % held.size();
        rig.release(held[k]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(k));
      }
      ASSERT_EQ(rig.cache.check(rig.holders), "") << "seed " << seed << ", operation " << i;
    }
    for (BlockId b : held) rig.release(b);
    EXPECT_EQ(rig.cache.held(), 0);
  }
}

}  // namespace
}  // namespace toccata::kv
