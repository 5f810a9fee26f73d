// --trace FILE of the commands that run steps.
#pragma once

#include <memory>
#include <string>

#include "arg_parser.h"
#include "toccata/trace.h"

namespace toccata::cli {

class TraceOption {
 public:
  void declare(ArgParser& parser);
  // Creates the file, if one was asked for. Before the model is loaded, which takes longer.
  Status open();
  std::shared_ptr<TraceFile> file() const { return file_; }  // null: none
  // The command's exit code; 1, and a sentence on stderr, if the file could not take all events.
  int close(const char* command, int code);

 private:
  std::string path_;
  std::shared_ptr<TraceFile> file_;
};

}  // namespace toccata::cli
