// `toccata simulate NAME`: finds the simulation and hands over.
#include "simulate.h"

#include <cstdio>

#include "arg_parser.h"
#include "commands.h"

namespace toccata::cli {
namespace {

struct Simulation {
  const char* name;
  int (*main)(int argc, char** argv);
  const char* summary;
};

constexpr Simulation kSimulations[] = {
    {"speculative", simulate_speculative_main, "how drafted tokens are kept or corrected"},
    {"scheduling", simulate_scheduling_main, "who waits while prompts are read, whole or in chunks"},
    {"kv", simulate_kv_main, "what KV policies and cache types save, and which tokens stay"},
};

// Completion reads the lines below "Simulations:".
int print_help() {
  std::fputs(
      "Shows an optimization at work, by the code that the engine uses.\n"
      "Usage: toccata simulate NAME [options]\n"
      "\n"
      "Simulations:\n",
      stdout);
  for (const Simulation& s : kSimulations) std::printf("  %-12s %s\n", s.name, s.summary);
  std::fputs("\n'toccata simulate NAME --help' lists the options of one.\n", stdout);
  return 0;
}

}  // namespace

int simulate_main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "--help" || name == "-h") return print_help();
  std::string names;
  for (const Simulation& s : kSimulations) {
    if (name == s.name) return s.main(argc - 1, argv + 1);
    names += (names.empty() ? "" : ", ") + std::string(s.name);
  }
  std::fprintf(stderr, "toccata simulate: %s; the simulations are %s (see 'toccata simulate --help')\n",
               name.empty() ? "name one" : (quoted(name) + " is none").c_str(), names.c_str());
  return 2;
}

Result<std::vector<double>> numbers_within(std::string_view text, double low, double high) {
  std::vector<double> numbers;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::optional<double> x = parse_number(text.substr(at, comma - at));
    if (!x || !(*x >= low && *x <= high)) {
      char range[80];
      std::snprintf(range, sizeof range, "numbers from %g to %g, comma-separated", low, high);
      return fail(ErrorCode::kInvalidArgument, "must be " + std::string(range) + ", not " + quoted(text));
    }
    numbers.push_back(*x);
    at = comma + 1;
  }
  return numbers;
}

}  // namespace toccata::cli
