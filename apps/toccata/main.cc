// toccata: finds the subcommand and hands over.
#include <fcntl.h>

#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>

#include "arg_parser.h"
#include "base/cpu_features.h"
#include "commands.h"
#include "kernels/dispatch.h"

namespace toccata::cli {
namespace {

struct Command {
  const char* name;
  int (*main)(int argc, char** argv);
  const char* summary;
};

constexpr Command kCommands[] = {
    {"run", run_main, "answer a prompt, or chat on a terminal"},
    {"serve", serve_main, "HTTP server with OpenAI's API, for many users at once"},
    {"inspect", inspect_main, "what is in a model file, and what memory it needs"},
    {"plan", plan_main, "how many tokens and requests fit, and how fast they can be at best"},
    {"tokenize", tokenize_main, "text to token ids"},
    {"detokenize", detokenize_main, "token ids to text"},
    {"eval", eval_main, "compare with reference outputs, or measure perplexity"},
    {"bench", bench_main, "prefill and decode speed beside the machine's physical limits"},
    {"simulate", simulate_main, "watch an optimization at work, on paper or on real models"},
    {"completion", completion_main, "print a completion script for bash, zsh or fish"},
};

constexpr const char* kIntro =
    "toccata runs large language models from GGUF files on ordinary CPUs.\n"
    "\n"
    "Usage: toccata COMMAND [options]\n"
    "\n"
    "Commands:\n";

constexpr const char* kGuide =
    "\n"
    "Start here:\n"
    "  toccata run -m model.gguf -p \"Why is the sky blue?\"   one answer, streamed to stdout\n"
    "  toccata run -m model.gguf                             chat; arrow keys edit, Ctrl-D ends\n"
    "  cat notes.txt | toccata run -m model.gguf             the prompt comes from stdin\n"
    "  toccata serve -m model.gguf                           OpenAI API on port 8080\n"
    "  toccata inspect model.gguf                            architecture, tensors, memory plan\n"
    "  toccata bench -m model.gguf -p 512 -n 128             tokens per second\n"
    "  toccata simulate scheduling                           who waits while a long prompt is read\n"
    "  source <(toccata completion bash)                     Tab completes commands and options\n"
    "\n"
    "'toccata COMMAND --help' lists the options of a command; 'toccata --version' shows the\n"
    "instruction set in use.\n"
    "\n"
    "Environment:\n"
    "  TOCCATA_ISA=generic|avx2|avx512   use this kernel set instead of the fastest one; the\n"
    "                                    output is the same bits with each\n"
    "\n"
    "stdout carries the answer, stderr everything else. Exit codes: 0 success, 1 a file or the\n"
    "engine failed, 2 wrong usage, 130 interrupted.\n";

int print_help() {
  std::fputs(kIntro, stdout);
  for (const Command& command : kCommands) std::printf("  %-12s %s\n", command.name, command.summary);
  std::fputs(kGuide, stdout);
  return 0;
}

const char* yes_no(bool value) { return value ? "yes" : "no"; }

int print_version() {
  const auto selected = kernels::select_kernels();
  if (!selected) {
    std::fprintf(stderr, "toccata: %s\n", selected.error().message.c_str());
    return 2;
  }
  std::string available;
  for (const kernels::KernelSet& set : kernels::available_kernels()) {
    available += (available.empty() ? "" : ", ") + std::string(set.isa);
  }
  const CpuFeatures& cpu = cpu_features();
  std::printf("toccata %s\n", TOCCATA_VERSION);
  std::printf("kernels: %s (available: %s)\n", std::string((*selected)->isa).c_str(), available.c_str());
  std::printf("cpu: %s, %d logical CPUs\n", cpu.model_name.c_str(), cpu.logical_cpus);
  std::printf("cpu features: avx2 %s, avx512 %s, avx512_vnni %s, avx512_bf16 %s, avx_vnni %s\n", yes_no(cpu.avx2),
              yes_no(cpu.avx512), yes_no(cpu.avx512_vnni), yes_no(cpu.avx512_bf16), yes_no(cpu.avx_vnni));
  return 0;
}

const Command* find_command(const char* name) {
  for (const Command& command : kCommands) {
    if (std::strcmp(command.name, name) == 0) return &command;
  }
  return nullptr;
}

int unknown_command(const char* name) {
  std::string names;
  for (const Command& command : kCommands) names += (names.empty() ? "" : ", ") + std::string(command.name);
  std::fprintf(stderr, "toccata: %s is not a command; the commands are %s (see 'toccata --help')\n",
               quoted(name).c_str(), names.c_str());
  return 2;
}

// `toccata help COMMAND` is `toccata COMMAND --help`.
int help_for(char* name) {
  const Command* command = find_command(name);
  if (command == nullptr) return unknown_command(name);
  char flag[] = "--help";
  char* argv[] = {name, flag, nullptr};
  return command->main(2, argv);
}

int dispatch(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("toccata: no command given (see 'toccata --help')\n", stderr);
    return 2;
  }
  const std::string first = argv[1];
  if (first == "--help" || first == "-h") return print_help();
  if (first == "help") return argc > 2 ? help_for(argv[2]) : print_help();
  if (first == "--version" || first == "version") return print_version();
  const Command* command = find_command(argv[1]);
  return command != nullptr ? command->main(argc - 1, argv + 1) : unknown_command(argv[1]);
}

// The number of a closed standard stream would go to the next file opened, and messages would land in that file.
// Opened the wrong way round, reading and writing still fail.
void hold_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace
}  // namespace toccata::cli

int main(int argc, char** argv) {
  toccata::cli::hold_standard_streams();
  const int code = toccata::cli::dispatch(argc, argv);
  // A full disk or a closed pipe must not look like success.
  if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && code == 0) {
    std::fputs("toccata: cannot write to standard output\n", stderr);
    return 1;
  }
  return code;
}
