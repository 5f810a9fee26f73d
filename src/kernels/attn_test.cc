#include "kernels/attn.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "kernels/vec_testing.h"
#include "tensor/dequantize.h"

namespace toccata::kernels {
namespace {

using testing::TestedSet;

const AttnKernels& reference() { return *available_kernels().front().attn; }
size_t element_bytes(DType type) { return type == DType::kF32 ? 4 : 2; }
constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0};

void expect_same(const std::vector<float>& got, const std::vector<float>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(want[i])) continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want[i])) << what << " at " << i;
  }
}

// One split of cache blocks and a tile of query rows, all random. Slots from `written` on hold NaN.
struct Problem {
  AttnTile tile;
  int64_t begin = 0;
  std::vector<float> q;
  std::vector<std::byte> memory;
  const std::byte* blocks[kAttnSplit / kKvBlock] = {};

  Problem(const AttnTile& shape, int64_t split_begin, std::mt19937& rng) : tile(shape), begin(split_begin) {
    std::normal_distribution<float> normal(0.0f, 1.0f);
    const size_t dim = static_cast<size_t>(tile.head_dim);
    q.resize(static_cast<size_t>(tile.rows) * dim);
    for (float& x : q) x = normal(rng);
    tile.q = q.data();
    const size_t k_bytes = static_cast<size_t>(kv_k_bytes(tile.k_type, tile.head_dim));
    tile.v_offset = k_bytes;
    const size_t run = k_bytes + static_cast<size_t>(kv_v_bytes(tile.v_type, tile.head_dim));
    memory.assign(run * 16 + 64, std::byte{0xff});
    std::byte* base = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
    const int64_t written = tile.first_pos + (tile.rows - 1) / tile.group + 1;  // positions
    std::vector<float> row(dim);
    for (int64_t p = begin; p < std::min(written, begin + kAttnSplit); ++p) {
      const int64_t b = (p - begin) / 32;
      blocks[b] = base + static_cast<size_t>(b) * run;
      for (int kv = 0; kv < 2; ++kv) {
        for (float& x : row) x = normal(rng);
        const auto store = kv ? reference().store_v : reference().store_k;
        store(kv ? tile.v_type : tile.k_type, row.data(), dim, tile.head_dim, static_cast<int>(p % 32), 1,
              const_cast<std::byte*>(blocks[b]) + (kv ? k_bytes : 0));
      }
    }
  }
};

// m, l and O of the rows, one after the other, without the padding of O.
std::vector<float> run_split(const AttnKernels& kernels, const Problem& p) {
  const size_t rows = static_cast<size_t>(p.tile.rows), stride = static_cast<size_t>(attn_o_stride(p.tile.head_dim));
  std::vector<float> m(rows, 5.0f), l(rows, 5.0f), o(rows * stride, 5.0f);
  alignas(64) static std::byte scratch[attn_scratch_bytes(kMaxHeadDim)];
  std::memset(scratch, 0xff, sizeof(scratch));  // NaN
  kernels.split(p.tile, p.begin, p.blocks, {m.data(), l.data(), o.data()}, scratch);
  std::vector<float> all = m;
  all.insert(all.end(), l.begin(), l.end());
  for (size_t r = 0; r < rows; ++r) {
    const auto row = o.begin() + static_cast<ptrdiff_t>(r * stride);
    all.insert(all.end(), row, row + p.tile.head_dim);
  }
  return all;
}

AttnTile random_tile(std::mt19937& rng) {
  const auto pick = [&rng](int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng); };
  AttnTile t;
  t.head_dim = 8 * pick(1, 5) * (pick(0, 7) == 0 ? 12 : 1);
  t.group = pick(1, 9);
  t.rows = std::min(kAttnRows, t.group * pick(1, pick(1, 40)));
  t.k_type = kTypes[pick(0, 4)];
  t.v_type = kTypes[pick(0, 4)];
  t.first_pos = pick(0, 1500);
  const int windows[] = {0, 0, 1, 3, 16, 64, 100, 700};
  t.window = windows[pick(0, 7)];
  t.c = 0.4f;
  return t;
}

TEST(Attn, SplitsOfRandomTilesEqualTheReference) {
  std::mt19937 rng(7);
  for (int i = 0; i < 250; ++i) {
    const AttnTile t = random_tile(rng);
    for (int64_t begin = 0; begin <= t.first_pos + t.rows; begin += kAttnSplit) {
      const Problem p(t, begin, rng);
      const std::vector<float> want = run_split(reference(), p);
      for (float x : want) ASSERT_FALSE(std::isnan(x)) << "tile " << i;
      for (const TestedSet& set : testing::tested_sets()) {
        expect_same(run_split(*set.attn, p), want, set.name + ", tile " + std::to_string(i));
      }
    }
  }
}

// What split() leaves of its weights, and the sums over queries that columns() makes of them.
TEST(Attn, ColumnsOfRandomTilesEqualTheReference) {
  std::mt19937 rng(17);
  for (int i = 0; i < 60; ++i) {
    AttnTile t = random_tile(rng);
    const int64_t begin = (t.first_pos + t.rows / t.group) / kAttnSplit * kAttnSplit;
    const Problem p(t, begin, rng);
    constexpr int kTiles = kAttnSplit / kAttnTile;
    const size_t rows = static_cast<size_t>(t.rows);
    const auto run = [&](const AttnKernels& kernels) {
      alignas(64) static float weights[kTiles * kAttnRows * kAttnTile], sums[kAttnSplit], w[kAttnRows];
      std::vector<float> maxima(kTiles * rows, 0.0f), m(rows), l(rows);
      std::vector<float> o(rows * static_cast<size_t>(attn_o_stride(t.head_dim)));
      alignas(64) static std::byte scratch[attn_scratch_bytes(kMaxHeadDim)];
      std::fill(std::begin(weights), std::end(weights), 3.0f);
      std::fill(std::begin(sums), std::end(sums), 0.5f);
      AttnTile traced = p.tile;
      traced.p = weights;
      traced.p_max = maxima.data();
      kernels.split(traced, begin, p.blocks, {m.data(), l.data(), o.data()}, scratch);
      for (size_t r = 0; r < rows; ++r) {  // as if other splits had been merged
        if (l[r] == 0.0f) l[r] = 1.0f;
        m[r] += 0.25f;
      }
      const int64_t last = t.first_pos + (t.rows - 1) / t.group;
      const int64_t first = t.window > 0 ? std::max<int64_t>(0, t.first_pos - t.window + 1) : 0;
      for (int tile = 0; tile < kTiles; ++tile) {
        const int64_t at = begin + tile * kAttnTile;
        if (at > last || at + kAttnTile <= first) continue;
        kernels.columns(traced, tile, m.data(), l.data(), tile % 2 ? 32 : 64, w, sums + tile * kAttnTile);
      }
      return std::vector<float>(sums, sums + kAttnSplit);
    };
    const std::vector<float> want = run(reference());
    for (float x : want) ASSERT_TRUE(std::isfinite(x));
    for (const TestedSet& set : testing::tested_sets()) {
      expect_same(run(*set.attn), want, set.name + ", tile " + std::to_string(i));
    }
  }
}

// Without a merge the weights are the softmax: those of a row add up to one.
TEST(Attn, ColumnsAddUpToTheNumberOfQueries) {
  std::mt19937 rng(18);
  AttnTile t;
  t.head_dim = 64;
  t.group = 3;
  t.rows = 60;
  t.first_pos = 300;
  t.c = 0.4f;
  const Problem p(t, 0, rng);
  for (const TestedSet& set : testing::tested_sets()) {
    alignas(64) static float weights[8 * kAttnRows * kAttnTile], sums[kAttnSplit], w[kAttnRows];
    alignas(64) static std::byte scratch[attn_scratch_bytes(kMaxHeadDim)];
    std::fill(std::begin(sums), std::end(sums), 0.0f);
    std::vector<float> maxima(8 * 60), m(60), l(60), o(60 * 64);
    AttnTile traced = p.tile;
    traced.p = weights;
    traced.p_max = maxima.data();
    set.attn->split(traced, 0, p.blocks, {m.data(), l.data(), o.data()}, scratch);
    for (int tile = 0; tile < 5; ++tile) {
      set.attn->columns(traced, tile, m.data(), l.data(), 64, w, sums + tile * kAttnTile);
    }
    double total = 0, unseen = 0;
    for (int j = 0; j < 320; ++j) total += static_cast<double>(sums[j]);
    for (int j = 320; j < 512; ++j) unseen += static_cast<double>(sums[j]);
    EXPECT_NEAR(total, 60.0, 1e-3) << set.name;
    EXPECT_EQ(unseen, 0.0) << set.name;
    EXPECT_GT(sums[319], 0.0f);  // seen by the last token alone
  }
}

// The row of a tile is what it is alone: the sentence that makes chunks, batches and speculation exact.
TEST(Attn, ARowDoesNotDependOnItsTile) {
  std::mt19937 rng(8);
  for (int i = 0; i < 70; ++i) {
    const Problem p(random_tile(rng), 512 * (i % 3), rng);
    for (const TestedSet& set : testing::tested_sets()) {
      const std::vector<float> all = run_split(*set.attn, p);
      const size_t rows = static_cast<size_t>(p.tile.rows), dim = static_cast<size_t>(p.tile.head_dim);
      for (size_t r = 0; r < rows; ++r) {
        Problem one = p;
        one.tile.q = p.q.data() + r * dim;
        one.tile.rows = one.tile.group = 1;
        one.tile.first_pos = p.tile.first_pos + static_cast<int64_t>(r) / p.tile.group;
        std::vector<float> want = {all[r], all[rows + r]};
        const auto o = all.begin() + static_cast<ptrdiff_t>(2 * rows + r * dim);
        want.insert(want.end(), o, o + p.tile.head_dim);
        expect_same(run_split(*set.attn, one), want, set.name);
      }
    }
  }
}

// A NaN or an infinity in V reaches exactly the rows that see it.
TEST(Attn, FaultyValuesStayWithTheRowsThatSeeThem) {
  std::mt19937 rng(9);
  AttnTile t;
  t.head_dim = 24;
  t.group = 2;
  t.rows = 40;
  t.k_type = t.v_type = DType::kF32;
  t.first_pos = 50;
  t.window = 16;
  t.c = 0.4f;
  const Problem clean(t, 0, rng);
  for (float fault : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Problem faulty = clean;
    const int key = 57;
    std::byte* v = const_cast<std::byte*>(clean.blocks[key / 32]) + clean.tile.v_offset;
    std::vector<float> kept(24);
    std::memcpy(kept.data(), v + key % 32 * 24 * 4, 24 * 4);
    std::vector<float> bad(24, fault);
    std::memcpy(v + key % 32 * 24 * 4, bad.data(), 24 * 4);
    faulty.tile.q = faulty.q.data();
    std::vector<std::vector<float>> faulted;
    for (const TestedSet& set : testing::tested_sets()) faulted.push_back(run_split(*set.attn, faulty));
    std::memcpy(v + key % 32 * 24 * 4, kept.data(), 24 * 4);
    const std::vector<float> want = run_split(reference(), clean);
    for (const std::vector<float>& got : faulted) {
      for (size_t r = 0; r < 40; ++r) {
        const int64_t pos = t.first_pos + static_cast<int64_t>(r) / 2;
        const bool sees = key <= pos && key > pos - t.window;
        for (size_t d = 0; d < 24; ++d) {
          const float x = got[80 + r * 24 + d];
          if (sees) {
            ASSERT_FALSE(std::isfinite(x)) << r;
          } else {
            ASSERT_EQ(x, want[80 + r * 24 + d]) << r;
          }
        }
      }
    }
  }
}

TEST(Attn, MergeEqualsTheReferenceAndSkipsEmptySplits) {
  std::mt19937 rng(10);
  std::normal_distribution<float> normal(0.0f, 2.0f);
  const int dim = 40, rows = 9, stride = attn_o_stride(dim);
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> m(rows), l(rows), o(static_cast<size_t>(rows * stride)), m2(rows), l2(rows), o2(o.size());
  for (int r = 0; r < rows; ++r) {
    const size_t i = static_cast<size_t>(r);
    m[i] = r == 0 || r == 2 ? -inf : normal(rng);
    m2[i] = r == 1 || r == 2 ? -inf : normal(rng) * (r == 3 ? 1000.0f : 1.0f);
    l[i] = std::isinf(m[i]) ? 0.0f : 1.5f;
    l2[i] = std::isinf(m2[i]) ? 0.0f : 2.5f;
    for (int d = 0; d < stride; ++d) {
      o[static_cast<size_t>(r * stride + d)] = std::isinf(m[i]) ? 0.0f : normal(rng);
      o2[static_cast<size_t>(r * stride + d)] = std::isinf(m2[i]) ? 0.0f : normal(rng);
    }
  }
  const auto merged = [&](const AttnKernels& kernels) {
    std::vector<float> a = m, b = l, c = o;
    kernels.merge({a.data(), b.data(), c.data()}, {m2.data(), l2.data(), o2.data()}, rows, dim, 0.7f);
    for (int r = 0; r < rows; ++r) {
      a.insert(a.end(), c.begin() + r * stride, c.begin() + r * stride + dim);
      std::vector<float> out(dim);
      kernels.finish(c.data() + r * stride, b[static_cast<size_t>(r)], dim, out.data());
      a.insert(a.end(), out.begin(), out.end());
    }
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  const std::vector<float> want = merged(reference());
  for (const TestedSet& set : testing::tested_sets()) expect_same(merged(*set.attn), want, set.name);
  for (size_t d = 0; d < 40; ++d) {
    EXPECT_EQ(want[rows + d], o2[d]);                                    // nothing + split
    EXPECT_EQ(want[rows + 80 + d], o[static_cast<size_t>(stride) + d]);  // running + nothing
  }
  EXPECT_EQ(want[2], -inf);
  for (const TestedSet& set : testing::tested_sets()) {  // the sign of a zero must not tell of skipped tiles
    const std::vector<float> minus(24, -0.0f);
    std::vector<float> out(24);
    set.attn->finish(minus.data(), 2.0f, 24, out.data());
    for (float x : out) EXPECT_FALSE(std::signbit(x)) << set.name;
  }
}

TEST(Attn, StoresRoundLikeTheReferenceAndTouchOnlyTheirSlots) {
  std::mt19937 rng(11);
  std::normal_distribution<float> normal(0.0f, 300.0f);
  const int dim = 24;
  const size_t stride = 31;
  std::vector<float> rows(5 * stride);
  for (float& x : rows) x = normal(rng);
  const float special[] = {65519.0f,
                           65520.0f,
                           -1e9f,
                           1e-7f,
                           -3e-8f,
                           0.0f,
                           -0.0f,
                           std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN(),
                           std::bit_cast<float>(0x7f812345u),
                           std::bit_cast<float>(0xff800001u),
                           1.00048828125f,
                           1.00146484375f,
                           3.4e38f};
  std::copy(std::begin(special), std::end(special), rows.begin() + 3);
  for (DType type : {DType::kF16, DType::kBF16, DType::kF32}) {
    const size_t bytes = 32 * dim * element_bytes(type);
    const auto stored = [&](const AttnKernels& kernels, bool value) {
      std::vector<std::byte> block(bytes, std::byte{0x5a});
      (value ? kernels.store_v : kernels.store_k)(type, rows.data(), stride, dim, 7, 5, block.data());
      return block;
    };
    for (const TestedSet& set : testing::tested_sets()) {
      EXPECT_EQ(stored(*set.attn, false), stored(reference(), false)) << set.name;
      EXPECT_EQ(stored(*set.attn, true), stored(reference(), true)) << set.name;
    }
    // Where they lie: K [dim][32], V [32][dim].
    const std::vector<std::byte> k = stored(reference(), false), v = stored(reference(), true);
    for (size_t t = 0; t < 32; ++t) {
      for (size_t d = 0; d < dim; ++d) {
        const size_t e = element_bytes(type);
        if (t < 7 || t >= 12) {
          EXPECT_EQ(k[(d * 32 + t) * e], std::byte{0x5a});
          EXPECT_EQ(v[(t * dim + d) * e], std::byte{0x5a});
        } else {
          EXPECT_EQ(0, std::memcmp(&k[(d * 32 + t) * e], &v[(t * dim + d) * e], e));
        }
      }
    }
  }
}

TEST(Attn, PartsOfThePlainMethodEqualTheReference) {
  std::mt19937 rng(12);
  for (int i = 0; i < 60; ++i) {
    const Problem p(random_tile(rng), 0, rng);
    const size_t rows = static_cast<size_t>(p.tile.rows), stride = 80;
    const size_t o_stride = static_cast<size_t>(attn_o_stride(p.tile.head_dim));
    const auto run = [&](const AttnKernels& kernels) {
      alignas(64) static std::byte scratch[attn_scratch_bytes(kMaxHeadDim)];
      alignas(64) static float s[kAttnRows * 80];
      std::fill(std::begin(s), std::end(s), 3.0f);
      const int64_t begin = 64 * (i % 4);
      kernels.scores(p.tile, begin, p.blocks + begin / 32, s, stride, scratch);
      std::vector<float> all(s, s + rows * stride), o(rows * o_stride, 0.25f);
      for (size_t r = 0; r < rows; ++r) all.push_back(kernels.softmax(s + r * stride, 64, 0.3f));
      all.insert(all.end(), s, s + rows * stride);
      kernels.accumulate(p.tile, begin, p.blocks + begin / 32, s, stride, o.data(), scratch);
      for (size_t r = 0; r < rows; ++r) {
        const auto row = o.begin() + static_cast<ptrdiff_t>(r * o_stride);
        all.insert(all.end(), row, row + p.tile.head_dim);
      }
      return all;
    };
    const std::vector<float> want = run(reference());
    for (const TestedSet& set : testing::tested_sets()) expect_same(run(*set.attn), want, set.name);
  }
}

}  // namespace
}  // namespace toccata::kernels
