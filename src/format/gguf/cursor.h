// Reads little-endian fields from a byte range and never passes its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace toccata::gguf {

class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }

  // Each of these returns false (nullptr) and stays where it is when too few bytes remain.
  template <class T>
  bool read(T& value) {
    const std::byte* at = take(sizeof(T));
    if (at != nullptr) std::memcpy(&value, at, sizeof(T));
    return at != nullptr;
  }
  bool read_string(std::string_view& text) {
    const size_t begin = position_;
    uint64_t length = 0;
    const std::byte* at = read(length) ? take(length) : nullptr;
    if (at == nullptr) {
      position_ = begin;
      return false;
    }
    text = {reinterpret_cast<const char*>(at), static_cast<size_t>(length)};
    return true;
  }
  const std::byte* take(uint64_t count) {
    if (count > remaining()) return nullptr;
    const std::byte* at = bytes_.data() + position_;
    position_ += static_cast<size_t>(count);
    return at;
  }

 private:
  std::span<const std::byte> bytes_;
  size_t position_ = 0;
};

}  // namespace toccata::gguf
