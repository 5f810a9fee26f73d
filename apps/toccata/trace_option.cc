#include "trace_option.h"

#include "loaded_model.h"

namespace toccata::cli {

void TraceOption::declare(ArgParser& parser) {
  parser.text("--trace", path_, "FILE",
              "write steps, their phases and requests for ui.perfetto.dev or chrome://tracing");
}

Status TraceOption::open() {
  if (path_.empty()) return {};
  Result<std::shared_ptr<TraceFile>> file = TraceFile::create(path_);
  if (!file) return tl::unexpected(file.error());
  file_ = std::move(*file);
  return {};
}

int TraceOption::close(const char* command, int code) {
  if (!file_) return code;
  const Status done = file_->close();
  if (done) return code;
  const int failed = report(command, done.error());
  return code == 0 ? failed : code;
}

}  // namespace toccata::cli
