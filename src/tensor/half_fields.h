// Where the blocks of a quantised format keep their f16 fields: tests that fill blocks with random bytes must write
// finite numbers there.
#pragma once

#include "tensor/dtype.h"

namespace toccata {

// Offsets of the f16 fields (d, m or dmin) in a block; -1 where there is none.
struct HalfFields {
  int first = -1, second = -1;
};

inline HalfFields half_fields(DType type) {
  switch (type) {
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return {0, 2};
    case DType::kQ2_K:
      return {80, 82};
    case DType::kQ3_K:
      return {108};
    case DType::kQ6_K:
      return {208};
    case DType::kMXFP4:
      return {};
    default:
      return {0};
  }
}

}  // namespace toccata
