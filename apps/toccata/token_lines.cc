#include "token_lines.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "interrupt.h"
#include "json_reader.h"
#include "output.h"

namespace toccata::cli {
namespace {

constexpr size_t kMaxLine = size_t{256} << 20;

class StdinLines {
 public:
  // false at the end of the input. The last line needs no newline.
  Result<bool> next(std::string& line) {
    line.clear();
    for (;;) {
      const size_t newline = buffer_.find('\n', at_);
      if (newline != std::string::npos) {
        line.append(buffer_, at_, newline - at_);
        at_ = newline + 1;
        return true;
      }
      line.append(buffer_, at_, std::string::npos);
      if (line.size() > kMaxLine) return fail(ErrorCode::kInvalidFile, "is longer than 256 MiB");
      const Result<bool> more = fill();
      if (!more) return tl::unexpected(more.error());
      if (interrupted()) return false;  // what was read of the line is not all of it
      if (!*more) return !line.empty();
    }
  }

 private:
  Result<bool> fill() {
    buffer_.resize(1 << 16);
    at_ = 0;
    ssize_t n = -1;
    while (!interrupted() && (n = ::read(STDIN_FILENO, buffer_.data(), buffer_.size())) < 0 && errno == EINTR) {
    }
    buffer_.resize(n > 0 ? static_cast<size_t>(n) : 0);
    if (n < 0 && !interrupted())
      return fail(ErrorCode::kInvalidFile, std::string("cannot be read: ") + std::strerror(errno));
    return n > 0;
  }

  std::string buffer_;
  size_t at_ = 0;
};

}  // namespace

Status for_each_json_line(
    const std::function<Result<std::string>(const boost::json::object&, const std::string& where)>& answer) {
  StdinLines lines;
  std::string line;
  for (size_t number = 1; !interrupted(); ++number) {
    const std::string where = "stdin, line " + std::to_string(number);
    const Result<bool> more = lines.next(line);
    if (!more) return fail(more.error().code, where + " " + more.error().message);
    if (!*more) break;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Result<boost::json::value> value = parse_json(line, where);
    if (!value) return tl::unexpected(value.error());
    if (!value->is_object()) return fail(ErrorCode::kInvalidFile, where + ": not a JSON object");
    const Result<std::string> out = answer(value->get_object(), where);
    if (!out) return tl::unexpected(out.error());
    if (Status s = write_stdout(*out + "\n"); !s) return s;
  }
  return {};
}

}  // namespace toccata::cli
