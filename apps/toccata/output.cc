#include "output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "arg_parser.h"
#include "interrupt.h"

namespace toccata::cli {
namespace {

// 0, or errno.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n >= 0)
      bytes.remove_prefix(static_cast<size_t>(n));
    else if (errno != EINTR)
      return errno;
  }
  return 0;
}

}  // namespace

Status write_stdout(std::string_view bytes) {
  const int error = write_all(STDOUT_FILENO, bytes);
  if (error == 0) return {};
  return fail(ErrorCode::kInternal, std::string("cannot write to standard output: ") + std::strerror(error));
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return fail(ErrorCode::kInternal, "cannot create " + quoted(path) + ": " + std::strerror(errno));
  return OutputFile(fd, path);
}

OutputFile::OutputFile(OutputFile&& other) noexcept : fd_(other.fd_), path_(std::move(other.path_)) { other.fd_ = -1; }

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status OutputFile::write(std::string_view bytes) {
  const int error = write_all(fd_, bytes);
  if (error == 0) return {};
  return fail(ErrorCode::kInternal, "cannot write to " + quoted(path_) + ": " + std::strerror(error));
}

Status OutputFile::close() {
  const int result = ::close(fd_);
  fd_ = -1;
  if (result == 0) return {};
  return fail(ErrorCode::kInternal, "cannot write to " + quoted(path_) + ": " + std::strerror(errno));
}

Result<std::string> read_text(const std::string& path, size_t most) {
  const bool is_stdin = path == "-";
  const int fd = is_stdin ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const std::string name = is_stdin ? "standard input" : quoted(path);
  if (fd < 0) return fail(ErrorCode::kNotFound, "cannot open " + name + ": " + std::strerror(errno));
  std::string text;
  int error = 0;
  for (char buffer[1 << 16]; text.size() <= most && !interrupted();) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n == 0) break;
    if (n > 0)
      text.append(buffer, static_cast<size_t>(n));
    else if (errno != EINTR)
      error = errno;
    if (error != 0) break;
  }
  if (!is_stdin) ::close(fd);
  if (error != 0) return fail(ErrorCode::kInvalidFile, "cannot read " + name + ": " + std::strerror(error));
  if (text.size() > most) {
    return fail(ErrorCode::kInvalidFile, name + " is longer than " + std::to_string(most >> 20) + " MiB");
  }
  return text;
}

std::string size_text(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  char text[64];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, kUnits[unit]);
  return text;
}

}  // namespace toccata::cli
