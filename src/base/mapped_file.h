// A read-only memory-mapped file.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "toccata/result.h"

namespace toccata {

class MappedFile {
 public:
  // Errors: kNotFound, kInvalidFile (a directory, an empty file, not a regular file).
  static Result<std::unique_ptr<MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  const std::string& path() const { return path_; }

  // Tells the kernel that [offset, offset + length) is not needed any more, so that it leaves the resident
  // set; the content stays readable (it is read from the file again). Rounds inwards to whole pages.
  void release(size_t offset, size_t length) const;

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::string path_;
};

}  // namespace toccata
