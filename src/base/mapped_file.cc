#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace toccata {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

std::string reason(int error) { return std::strerror(error); }

}  // namespace

Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO without a writer would wait for ever.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) {
    const int error = errno;
    return fail(error == EISDIR ? ErrorCode::kInvalidFile : ErrorCode::kNotFound,
                "cannot open '" + path + "': " + reason(error));
  }
  struct stat status;
  if (::fstat(file.fd, &status) != 0) return fail(ErrorCode::kInternal, "cannot stat '" + path + "': " + reason(errno));
  if (S_ISDIR(status.st_mode)) return fail(ErrorCode::kInvalidFile, "'" + path + "' is a directory, not a file");
  if (!S_ISREG(status.st_mode)) return fail(ErrorCode::kInvalidFile, "'" + path + "' is not a regular file");
  if (status.st_size <= 0) return fail(ErrorCode::kInvalidFile, "'" + path + "' is empty");
  const auto size = static_cast<size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (address == MAP_FAILED) {
    return fail(ErrorCode::kResourceExhausted, "cannot map '" + path + "': " + reason(errno));
  }
  std::unique_ptr<MappedFile> mapped(new MappedFile);
  mapped->data_ = static_cast<const std::byte*>(address);
  mapped->size_ = size;
  mapped->path_ = path;
  return mapped;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release(size_t offset, size_t length) const {
  if (offset >= size_) return;
  if (length > size_ - offset) length = size_ - offset;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t begin = (offset + page - 1) / page * page;
  const size_t end = (offset + length) / page * page;
  if (begin >= end) return;
  // The mapping is private and never written, so the pages can be dropped and read again from the file.
  ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

}  // namespace toccata
