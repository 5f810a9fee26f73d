// Who takes the figures of `toccata bench ablate`. Each function adds its rows and plots to the report, and stops
// early, without an error, when interrupted.
#pragma once

#include <functional>
#include <string>

#include "ablate.h"
#include "options.h"

namespace toccata::cli {

struct AblationSetup {
  std::string model, draft;  // draft: may be empty
  std::string text;          // what the model reads
  int64_t threads = 0;
  int64_t pairs = 3;
  std::vector<int64_t> lengths = {512, 2048};  // prompts of the attention rows, ascending
  int64_t streams = 4, answer = 96;            // that run while the long prompt arrives; tokens of each
  int64_t long_prompt = 1536;
  int64_t conversation = 512;  // tokens of each in the KV rows
  int64_t conversations = 2;   // that the fixed memory holds with an f16 cache
  int64_t drafted = 96;        // tokens of the speculation rows
  bool sweep_drafts = false;   // over the number of drafted tokens

  std::function<void(const char* what)> progress;  // one call for each unit of work
  int64_t units() const;                           // calls to come, in all
};

Status ablate_attention(const AblationSetup& setup, AblationReport& report);
Status ablate_chunks(const AblationSetup& setup, AblationReport& report);
Status ablate_speculation(const AblationSetup& setup, AblationReport& report);
Status ablate_cache(const AblationSetup& setup, AblationReport& report);
Status ablate_all(const AblationSetup& setup, AblationReport& report);

}  // namespace toccata::cli
