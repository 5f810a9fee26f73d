// A file for chrome://tracing and ui.perfetto.dev: the JSON object form of Chromium's Trace Event Format, with complete
// ("X"), counter ("C"), nestable asynchronous ("b", "e") and metadata ("M") events of one process.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "toccata/result.h"

namespace toccata {

// Times are seconds on the monotonic clock (base/clock.h); the file counts from its creation, in microseconds. At most
// 64 KiB wait in memory. What has been written is a whole JSON text at any time, so a process that is killed leaves all
// but the last second or so. Not synchronised.
class TraceFile {
 public:
  struct Arg {
    std::string_view name;
    std::variant<int64_t, double, std::string_view> value;  // numbers that are not finite become null
  };
  using Args = std::initializer_list<Arg>;

  // Creates or overwrites the file. Error: kInternal, names the path (also of a pipe, which cannot be written twice).
  static Result<std::shared_ptr<TraceFile>> create(const std::string& path);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  void name_process(std::string_view name);
  void name_track(int track, std::string_view name);

  void slice(int track, std::string_view name, double begin, double end, Args args = {});
  void counter(std::string_view name, double time, Args values);
  // Spans of one id nest: each begin() needs its end(), the inner ones first. Ids of different categories are
  // different.
  void begin(std::string_view category, uint64_t id, std::string_view name, double time, Args args = {});
  void end(std::string_view category, uint64_t id, std::string_view name, double time, Args args = {});

  void flush();
  // Writes what waits. Error: kInternal, the first fault of the disk; what came after it is not in the file.
  Status close();

 private:
  TraceFile(int fd, std::string path, double origin) : fd_(fd), path_(std::move(path)), origin_(origin) {}
  void add(char phase, std::string_view name, double time, std::string_view more, Args args);
  void metadata(int track, std::string_view kind, std::string_view name);

  int fd_;
  const std::string path_;
  const double origin_;
  std::string waiting_;
  int64_t written_ = 0;  // bytes of the file before the closing brackets
  bool first_ = true;
  double flushed_ = 0.0;  // when
  int error_ = 0;         // errno of the first fault
};

}  // namespace toccata
