// Which keys of a tile each query row sees.
#pragma once

#include "kernels/attn.h"
#include "kernels/x86/vec_math.h"

namespace toccata::kernels {
namespace {

TOCCATA_INLINE int clamp_to_tile(int64_t key) {
  return key < 0 ? 0 : key > kAttnTile ? kAttnTile : static_cast<int>(key);
}

// Row r sees keys [lo[r], hi[r]) of the tile, relative to its begin; none if lo[r] >= hi[r]. Both ascend with the row.
struct View {
  bool full;       // every row sees every key; lo and hi are then not filled in
  int first, end;  // the keys that any row sees
  int lo[kAttnRows];
  int hi[kAttnRows];

  View(const AttnTile& tile, int64_t begin) {
    const int64_t window = tile.window > 0 ? tile.window : INT64_MAX / 2;
    const int64_t last_pos = tile.first_pos + (tile.rows - 1) / tile.group;
    first = clamp_to_tile(tile.first_pos - window + 1 - begin);
    end = clamp_to_tile(last_pos + 1 - begin);
    full = tile.first_pos + 1 - begin >= kAttnTile && last_pos - window + 1 <= begin;
    if (full) return;
    for (int r = 0, t = 0; r < tile.rows; ++t) {
      const int64_t pos = tile.first_pos + t - begin;
      const int from = clamp_to_tile(pos - window + 1), to = clamp_to_tile(pos + 1);
      for (int g = 0; g < tile.group && r < tile.rows; ++g, ++r) {
        lo[r] = from;
        hi[r] = to;
      }
    }
  }

  bool empty() const { return first >= end; }
  bool sees_none(int row) const { return !full && lo[row] >= hi[row]; }
  // Panels of 16 keys that some row in [begin, end) sees.
  int first_panel(int row) const { return full ? 0 : lo[row] / 16; }
  int end_panel(int last_row) const { return full ? kAttnTile / 16 : (hi[last_row] + 15) / 16; }
};

}  // namespace
}  // namespace toccata::kernels
