// Units of a plan, cut into waves whose partial states fit the slots.
#pragma once

#include <algorithm>

#include "attention/plan.h"

namespace toccata::attention {

// Consecutive splits of one item within one wave. Split i of the piece has its state in rows
// [row + i * item.rows(), + item.rows()) of the slots.
struct Piece {
  Item item;
  int first = 0;  // counted from the item's first split
  int splits = 0;
  int64_t unit = 0;  // index of the first unit within the wave
  int row = 0;

  bool opens() const { return first == 0; }
  bool closes() const { return first + splits == item.splits(); }
};

// Walks the pieces of one wave. A copy remembers a place.
class WaveWalk {
 public:
  // slot_rows >= kAttnRows, so every wave gets on.
  WaveWalk(const Plan& plan, int slot_rows) : cursor_(plan), slot_rows_(slot_rows) {}
  bool done() const { return cursor_.done(); }

  // The next piece; false at the end of the wave.
  bool next(Piece& piece) {
    if (cursor_.done()) return false;
    piece.item = cursor_.item();
    const int left = piece.item.splits() - split_;
    piece.first = split_;
    piece.splits = std::min(left, (slot_rows_ - row_) / piece.item.rows());
    if (piece.splits == 0) return false;
    piece.unit = unit_;
    piece.row = row_;
    unit_ += piece.splits;
    row_ += piece.splits * piece.item.rows();
    split_ += piece.splits;
    if (piece.splits == left) {
      split_ = 0;
      cursor_.move_to(cursor_.index() + 1);
    }
    return true;
  }
  int64_t units() const { return unit_; }
  void begin_wave() {
    unit_ = 0;
    row_ = 0;
  }

 private:
  ItemCursor cursor_;
  int slot_rows_;
  int split_ = 0;     // of the present item
  int64_t unit_ = 0;  // units and rows of this wave so far
  int row_ = 0;
};

}  // namespace toccata::attention
