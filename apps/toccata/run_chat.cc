#include "run_chat.h"

#include <unistd.h>

#include <cstdio>

#include "interrupt.h"
#include "line_reader.h"
#include "output.h"
#include "run_report.h"

namespace toccata::cli {
namespace {

constexpr const char* kHelp =
    "  /reset   forget the conversation\n"
    "  /exit    leave (so does Ctrl-D)\n"
    "  Ctrl-C   stops an answer; twice leaves\n"
    "  A line that ends in \\ goes on in the next one.\n";

class Chat {
 public:
  Chat(const LoadedModel& model, const PromptMaker& prompts, Generator& generator, const ChatOptions& options,
       const Listener& listener)
      : model_(model), prompts_(prompts), generator_(generator), options_(options), listener_(listener) {
    reset();
  }

  int run() {
    std::fputs("Chat with the model; /help shows the commands.\n", stderr);
    LineReader reader("toccata");
    std::string line;
    for (bool warned = false;;) {
      const LineReader::Outcome outcome = reader.read(line);
      if (outcome == LineReader::Outcome::kEnd || line == "/exit" || line == "/quit") return 0;
      if (outcome == LineReader::Outcome::kInterrupted) {
        if (warned) return 130;
        warned = true;
        clear_interrupt();
        std::fputs("Ctrl-C again or /exit leaves.\n", stderr);
        continue;
      }
      warned = false;
      if (line == "/help")
        std::fputs(kHelp, stderr);
      else if (line == "/reset")
        reset();
      else if (line.find_first_not_of(" \t\n") != std::string::npos && !answer(line))
        return 1;
    }
  }

 private:
  void reset() {
    messages_.clear();
    if (!options_.system.empty()) messages_.push_back({"system", options_.system});
  }

  // False: the output failed, there is nobody to talk to.
  bool answer(const std::string& line) {
    messages_.push_back({"user", line});
    Result<Generation> g = generate_answer();
    clear_interrupt();
    if (!g) {
      report("run", g.error());
      std::fputs("The message was dropped; /reset makes room.\n", stderr);
      messages_.pop_back();
      return true;
    }
    if (g->finish == Finish::kOutputFailed) {
      report("run", g->output.error());
      return false;
    }
    if (g->text.empty() || g->text.back() != '\n') (void)write_stdout("\n");
    note_finish(*g, model_);
    if (options_.verbose) print_summary(model_, *g, generator_.seed());
    messages_.push_back({"assistant", g->text});
    return true;
  }

  Result<Generation> generate_answer() {
    const Result<std::vector<TokenId>> prompt = prompts_.answer(messages_);
    if (!prompt) return tl::unexpected(prompt.error());
    return generator_.generate(*prompt, options_.generate, listener_);
  }

  const LoadedModel& model_;
  const PromptMaker& prompts_;
  Generator& generator_;
  const ChatOptions& options_;
  const Listener& listener_;
  std::vector<Message> messages_;
};

}  // namespace

int chat(const LoadedModel& model, const PromptMaker& prompts, Generator& generator, const ChatOptions& options,
         const Listener& listener) {
  return Chat(model, prompts, generator, options, listener).run();
}

}  // namespace toccata::cli
