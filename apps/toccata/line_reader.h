// Lines from a terminal, with editing (arrow keys, Ctrl-A, Ctrl-R ...) and history.
#pragma once

#include <memory>
#include <string>

namespace toccata::cli {

class LineReader {
 public:
  explicit LineReader(const char* program);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  enum class Outcome { kLine, kEnd, kInterrupted };
  // The line without its newline. A line that ends in a backslash goes on in the next one.
  Outcome read(std::string& line);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace toccata::cli
