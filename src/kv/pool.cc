#include "kv/pool.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <string>

#include "base/check.h"
#include "kv/cache_types.h"

namespace toccata::kv {
namespace {

bool supported(DType type) {
  return std::any_of(kCacheTypes.begin(), kCacheTypes.end(), [type](const CacheType& t) { return t.type == type; });
}

Status check(const Layout& layout, int64_t blocks) {
  const auto refuse = [](std::string what) { return fail(ErrorCode::kInvalidArgument, std::move(what)); };
  for (DType type : {layout.k_type, layout.v_type}) {
    if (!supported(type)) {
      return refuse("the KV cache cannot hold " + std::string(dtype_info(type).name) + "; use one of " +
                    cache_type_names());
    }
  }
  if (layout.head_dim < 8 || layout.head_dim > kernels::kMaxHeadDim || layout.head_dim % 8 != 0) {
    return refuse("a head size of " + std::to_string(layout.head_dim) + " is not a multiple of 8 from 8 to " +
                  std::to_string(kernels::kMaxHeadDim));
  }
  if (layout.layers < 1 || layout.layers > 65536 || layout.kv_heads < 1 || layout.kv_heads > 65536) {
    return refuse("a KV cache of " + std::to_string(layout.layers) + " layers and " + std::to_string(layout.kv_heads) +
                  " heads is out of range");
  }
  const std::vector<int>& plain = layout.f16_layers;
  if (!std::is_sorted(plain.begin(), plain.end()) || std::adjacent_find(plain.begin(), plain.end()) != plain.end() ||
      (!plain.empty() && (plain.front() < 0 || plain.back() >= layout.layers))) {
    return refuse("the layers that keep f16 are not distinct layers from 0 to " + std::to_string(layout.layers - 1));
  }
  if (blocks < 1 || blocks > std::numeric_limits<BlockId>::max()) {
    return refuse("a KV cache of " + std::to_string(blocks) + " blocks is out of range");
  }
  return {};
}

}  // namespace

size_t Layout::k_bytes() const { return static_cast<size_t>(kernels::kv_k_bytes(k_type, head_dim)); }
size_t Layout::v_bytes() const { return static_cast<size_t>(kernels::kv_v_bytes(v_type, head_dim)); }
size_t Layout::block_bytes() const { return head_bytes() * static_cast<size_t>(kv_heads); }
size_t Layout::bytes_per_token() const {
  const size_t block = static_cast<size_t>(kernels::kKvBlock), plain = f16_layers.size();
  size_t bytes = block_bytes() / block * (static_cast<size_t>(layers) - plain);
  if (plain > 0) bytes += of(f16_layers.front()).block_bytes() / block * plain;
  return bytes;
}
size_t Layout::pool_block_bytes() const {
  // A head's part of consecutive blocks must not fall into the same sets of a cache, whose ways are a power of two: for
  // an odd number of 4 KiB pages it visits all of them. Small blocks, where that would cost much, are left.
  constexpr size_t kLine = 64, kPage = 4096, kWorthwhile = 64 * kPage;
  const size_t bytes = bytes_per_token() * static_cast<size_t>(kernels::kKvBlock);
  if (bytes < kWorthwhile) return (bytes + kLine - 1) / kLine * kLine;
  return ((bytes + kPage - 1) / kPage | 1) * kPage;
}
Layout Layout::of(int layer) const {
  Layout one{1, kv_heads, head_dim, k_type, v_type, {}};
  if (std::binary_search(f16_layers.begin(), f16_layers.end(), layer)) one.k_type = one.v_type = DType::kF16;
  return one;
}

Result<Pool> Pool::create(const Layout& layout, int64_t blocks) {
  if (Status s = check(layout, blocks); !s) return tl::unexpected(s.error());
  Pool pool;
  pool.layout_ = layout;
  pool.capacity_ = blocks;
  pool.stride_ = layout.pool_block_bytes();  // at most 2^16 layers of 2^16 heads of 2^17 bytes, and 2^13
  size_t bytes;
  if (__builtin_mul_overflow(pool.stride_, static_cast<size_t>(blocks), &bytes)) {
    return fail(ErrorCode::kInvalidArgument,
                "a KV cache of " + std::to_string(blocks) + " blocks is beyond the address space");
  }
  Result<AlignedBuffer> memory = AlignedBuffer::allocate(bytes);
  if (!memory) return tl::unexpected(memory.error());
  pool.memory_ = std::move(*memory);
  try {
    size_t offset = 0;
    for (int i = 0; i < layout.layers; ++i) {
      const Layout one = layout.of(i);
      pool.layers_.push_back({one, offset, one.head_bytes()});
      offset += one.block_bytes();
    }
    pool.references_.assign(static_cast<size_t>(blocks), 0);
    pool.free_.resize(static_cast<size_t>(blocks));
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kResourceExhausted,
                "cannot allocate the table of " + std::to_string(blocks) + " KV cache blocks");
  }
  // Taken from the back: fresh memory is used in ascending order, then the block released last (warm in the caches).
  for (size_t i = 0; i < pool.free_.size(); ++i) pool.free_[i] = static_cast<BlockId>(pool.free_.size() - 1 - i);
  return pool;
}

Result<BlockId> Pool::allocate() {
  if (free_.empty()) {
    return fail(ErrorCode::kResourceExhausted,
                "all " + std::to_string(capacity_) + " blocks of the KV cache are in use");
  }
  const BlockId block = free_.back();
  free_.pop_back();
  references_[static_cast<size_t>(block)] = 1;
  return block;
}

int32_t& Pool::reference(BlockId block) {
  TOCCATA_CHECK(block >= 0 && block < capacity_ && references_[static_cast<size_t>(block)] > 0);
  return references_[static_cast<size_t>(block)];
}

void Pool::release(BlockId block) {
  if (--reference(block) == 0) free_.push_back(block);  // never beyond the capacity reserved by create()
}

void Pool::copy(BlockId from, BlockId to) {
  TOCCATA_CHECK(reference(from) > 0 && reference(to) == 1);
  std::memcpy(head(0, to, 0), head(0, from, 0), stride_);
}

}  // namespace toccata::kv
