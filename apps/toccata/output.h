// The answer's way to stdout.
#pragma once

#include <string>
#include <string_view>

#include "toccata/result.h"

namespace toccata::cli {

// Writes all bytes to stdout at once, past stdio's buffer. Error: kInternal, says why (a closed pipe, a full disk).
Status write_stdout(std::string_view bytes);

// A file that is written whole or reported: created or truncated at open.
class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path);
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  Status write(std::string_view bytes);
  Status close();  // what the disk did not take is found out here

 private:
  OutputFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_;
  std::string path_;
};

// A whole text file, or stdin for "-". Errors: kNotFound, kInvalidFile (a directory, above `most` bytes).
Result<std::string> read_text(const std::string& path, size_t most = size_t{256} << 20);

std::string size_text(double bytes);  // "1.5 GiB"

}  // namespace toccata::cli
