#include "base/aligned_buffer.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

namespace toccata {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;

// The bytes that are really mapped for a buffer of `bytes`.
size_t mapped_size(size_t bytes) {
  const size_t unit = bytes >= kHugePage ? kHugePage : kPage;
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

Result<AlignedBuffer> AlignedBuffer::allocate(size_t bytes) {
  AlignedBuffer buffer;
  if (bytes == 0) return buffer;
  const auto exhausted = [bytes](const char* why) {
    return fail(ErrorCode::kResourceExhausted, "cannot allocate " + std::to_string(bytes) + " bytes of memory: " + why);
  };
  if (bytes > SIZE_MAX / 4) return exhausted("the size is beyond the address space");

  // A huge page needs a 2 MiB boundary at both ends, which mmap does not promise: map one huge page more
  // and give back what lies outside.
  const size_t size = mapped_size(bytes);
  const size_t slack = bytes >= kHugePage ? kHugePage : 0;
  void* address = ::mmap(nullptr, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return exhausted(std::strerror(errno));
  auto* data = static_cast<std::byte*>(address);
  if (slack != 0) {
    const size_t head = (kHugePage - reinterpret_cast<uintptr_t>(data) % kHugePage) % kHugePage;
    if (head != 0) ::munmap(data, head);
    if (head != slack) ::munmap(data + head + size, slack - head);
    data += head;
    ::madvise(data, size, MADV_HUGEPAGE);
  }
  buffer.data_ = data;
  buffer.size_ = bytes;
  return buffer;
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ != nullptr) ::munmap(data_, mapped_size(size_));
}

}  // namespace toccata
