// Chat on a terminal.
#pragma once

#include <string>

#include "run_generate.h"
#include "run_prompt.h"

namespace toccata::cli {

struct ChatOptions {
  GenerateOptions generate;
  std::string system;
  bool verbose = false;  // the summary after each answer
};

// Reads lines with editing and history until /exit or the end of input, and answers each. Returns the exit code.
int chat(const LoadedModel& model, const PromptMaker& prompts, Generator& generator, const ChatOptions& options,
         const Listener& listener);

}  // namespace toccata::cli
