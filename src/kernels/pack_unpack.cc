// Packed weights back to f32, with the operations of dequantize_row() in the same order.
#include "base/check.h"
#include "kernels/pack_read.h"

namespace toccata::kernels {
namespace {

// y = d * value + m in the 32-element formats.
void unpack_block32(DType type, const PackLayout& p, const uint8_t* block, int row, float* y) {
  int values[32];
  read_run(type, p, block + p.codes, row, values);
  const float d = read_scale(type, block, row);
  if (p.min < 0) {
    for (int k = 0; k < 32; ++k) y[k] = d * static_cast<float>(values[k]);
  } else {
    const float m = read_min(p, block, row);
    for (int k = 0; k < 32; ++k) y[k] = d * static_cast<float>(values[k]) + m;
  }
}

// y = (d * scale) * value - dmin * min, without the last term in formats that have none.
void unpack_block256(DType type, const PackLayout& p, const uint8_t* block, int row, float* y) {
  const float d = read_scale(type, block, row), dmin = read_min(p, block, row);
  const int sub_elems = p.elems / p.subs;
  for (int k = 0; k < p.elems; k += 32) {
    int values[32];
    read_run(type, p, block + p.codes + k / 32 * p.run_bytes(), row, values);
    for (int i = 0; i < 32; ++i) {
      const int g = (k + i) / sub_elems;
      const float scale = d * static_cast<float>(read_sub_scale(type, p, block, row, g));
      const float v = scale * static_cast<float>(values[i]);
      y[k + i] = p.min < 0 ? v : v - dmin * static_cast<float>(read_sub_min(type, p, block, row, g));
    }
  }
}

}  // namespace

void unpack_row(const PackedMatrix& w, int64_t row, float* dst) {
  TOCCATA_CHECK(row >= 0 && row < w.rows);
  const PackLayout p = pack_layout(w.type);
  const auto* group = reinterpret_cast<const uint8_t*>(w.data) + static_cast<size_t>(row / kGroupRows) * w.group_bytes;
  const int r = static_cast<int>(row % kGroupRows);
  if (p.elems == 1) {
    for (int64_t k = 0; k < w.cols; ++k) dst[k] = read_float(w.type, group, k * kGroupRows + r);
    return;
  }
  for (int64_t k = 0; k < w.cols; k += p.elems, group += p.bytes) {
    (p.elems == 32 ? unpack_block32 : unpack_block256)(w.type, p, group, r, dst + k);
  }
}

}  // namespace toccata::kernels
