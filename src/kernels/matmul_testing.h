// Test data for packed matrices: random GGUF rows of every format, and their packing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/matmul.h"

namespace toccata::kernels::testing {

// Of the codes and sub-block scales. kLowest: every byte 0x80, the lowest code and scale of Q8_0 and Q6_K.
enum class Fill { kRandom, kAllZeroBits, kAllOneBits, kLowest };

// `rows` rows of `cols` elements in GGUF's layout. f16 scales are finite, of both signs and sometimes zero.
std::vector<std::byte> make_rows(DType type, int64_t rows, int64_t cols, Fill fill, std::mt19937& rng);

// A packed copy of such rows, 64-byte aligned.
class Packed {
 public:
  Packed(DType type, int64_t rows, int64_t cols, const std::vector<std::byte>& gguf);
  const PackedMatrix& matrix() const { return m_; }

 private:
  std::vector<std::byte> storage_;
  PackedMatrix m_;
};

// 64-byte aligned memory of `bytes` bytes, each with the value 0xa5.
class Aligned {
 public:
  explicit Aligned(size_t bytes);
  std::byte* data() { return data_; }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }

 private:
  std::vector<std::byte> storage_;
  std::byte* data_;
};

}  // namespace toccata::kernels::testing
