#include "toccata/trace.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "base/utf8.h"

namespace toccata {
namespace {

constexpr std::string_view kHead = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
constexpr std::string_view kTail = "\n]}\n";
constexpr size_t kMostWaiting = 56 << 10;  // and one event more
constexpr double kMostSeconds = 1.0;       // that an event waits, if another one follows
constexpr size_t kMostText = 4096;         // bytes of a text

// Ill-formed bytes become U+FFFD, one each.
void append_text(std::string& out, std::string_view text) {
  text = text.substr(0, kMostText);
  out += '"';
  while (!text.empty()) {
    const utf8::Decoded d = utf8::decode(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    if (d.length == 0) {
      utf8::append(out, 0xFFFD);
    } else if (byte == '"' || byte == '\\') {
      (out += '\\') += text[0];
    } else if (byte < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      out += escape;
    } else {
      out += text.substr(0, static_cast<size_t>(d.length));
    }
    text.remove_prefix(d.length == 0 ? 1 : static_cast<size_t>(d.length));
  }
  out += '"';
}

void append_integer(std::string& out, int64_t value) { out += std::to_string(value); }

void append_number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  char text[32];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

// Microseconds with three places.
void append_time(std::string& out, double seconds) {
  char text[64];
  const auto [end, error] = std::to_chars(text, text + sizeof text, std::isfinite(seconds) ? seconds * 1e6 : 0.0,
                                          std::chars_format::fixed, 3);
  out.append(text, error == std::errc() ? end : text);
}

void append_value(std::string& out, const TraceFile::Arg& arg) {
  if (const auto* n = std::get_if<int64_t>(&arg.value)) return append_integer(out, *n);
  if (const auto* x = std::get_if<double>(&arg.value)) return append_number(out, *x);
  append_text(out, std::get<std::string_view>(arg.value));
}

void append_args(std::string& out, TraceFile::Args args) {
  if (args.size() == 0) return;
  char separator = '{';
  out += ",\"args\":";
  for (const TraceFile::Arg& a : args) {
    out += separator;
    append_text(out, a.name);
    out += ':';
    append_value(out, a);
    separator = ',';
  }
  out += '}';
}

// 0, or errno.
int write_at(int fd, std::string_view bytes, int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(n));
    offset += n;
  }
  return 0;
}

}  // namespace

Result<std::shared_ptr<TraceFile>> TraceFile::create(const std::string& path) {
  // O_NONBLOCK: opening a FIFO without a reader would wait for ever.
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
  if (fd < 0) {
    return fail(ErrorCode::kInternal, "cannot create the trace '" + path + "': " + std::strerror(errno));
  }
  std::shared_ptr<TraceFile> file(new TraceFile(fd, path, monotonic_seconds()));
  file->waiting_ = kHead;
  file->flush();  // a full disk, too, is found out now
  if (file->error_ != 0) return tl::unexpected(file->close().error());
  return file;
}

TraceFile::~TraceFile() { (void)close(); }

void TraceFile::flush() {
  flushed_ = monotonic_seconds();
  if (waiting_.empty() || fd_ < 0) return;
  if (error_ == 0) {
    const size_t size = waiting_.size();
    waiting_ += kTail;  // overwritten by what comes next
    error_ = write_at(fd_, waiting_, written_);
    written_ += static_cast<int64_t>(size);
  }
  waiting_.clear();
}

Status TraceFile::close() {
  flush();
  if (fd_ >= 0 && ::close(fd_) != 0 && error_ == 0) error_ = errno;
  fd_ = -1;
  if (error_ == 0) return {};
  return fail(ErrorCode::kInternal, "cannot write the trace '" + path_ + "': " + std::strerror(error_));
}

void TraceFile::add(char phase, std::string_view name, double time, std::string_view more, Args args) {
  if (fd_ < 0 || error_ != 0) return;
  waiting_ += first_ ? "\n" : ",\n";
  first_ = false;
  waiting_ += "{\"ph\":\"";
  waiting_ += phase;
  waiting_ += "\",\"pid\":1,\"ts\":";
  append_time(waiting_, time - origin_);
  waiting_ += ",\"name\":";
  append_text(waiting_, name);
  waiting_ += more;
  append_args(waiting_, args);
  waiting_ += '}';
  if (waiting_.size() >= kMostWaiting || monotonic_seconds() - flushed_ > kMostSeconds) flush();
}

void TraceFile::metadata(int track, std::string_view kind, std::string_view name) {
  add('M', kind, origin_, ",\"tid\":" + std::to_string(track), {{"name", name}});
}

void TraceFile::name_process(std::string_view name) { metadata(0, "process_name", name); }
void TraceFile::name_track(int track, std::string_view name) { metadata(track, "thread_name", name); }

void TraceFile::slice(int track, std::string_view name, double begin, double end, Args args) {
  std::string more = ",\"tid\":" + std::to_string(track) + ",\"dur\":";
  append_time(more, end - begin);
  add('X', name, begin, more, args);
}

void TraceFile::counter(std::string_view name, double time, Args values) { add('C', name, time, "", values); }

namespace {

std::string span_of(std::string_view category, uint64_t id) {
  std::string more = ",\"tid\":0,\"cat\":";
  append_text(more, category);
  char text[40];
  std::snprintf(text, sizeof text, ",\"id\":\"0x%llx\"", static_cast<unsigned long long>(id));
  return more + text;
}

}  // namespace

void TraceFile::begin(std::string_view category, uint64_t id, std::string_view name, double time, Args args) {
  add('b', name, time, span_of(category, id), args);
}

void TraceFile::end(std::string_view category, uint64_t id, std::string_view name, double time, Args args) {
  add('e', name, time, span_of(category, id), args);
}

}  // namespace toccata
