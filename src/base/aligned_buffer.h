// Page-aligned zeroed memory, backed by transparent huge pages where the system has them.
#pragma once

#include <cstddef>
#include <utility>

#include "toccata/result.h"

namespace toccata {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Anonymous mapping of `bytes` (0 gives an empty buffer); pages are touched by their first writer, so
  // placement follows first touch. Error: kResourceExhausted.
  static Result<AlignedBuffer> allocate(size_t bytes);
  ~AlignedBuffer();
  AlignedBuffer(AlignedBuffer&& other) noexcept { *this = std::move(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace toccata
