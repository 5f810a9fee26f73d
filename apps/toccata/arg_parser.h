// Command lines of the subcommands. The parsing library is heavy to compile, so it stays behind this header.
//
// Every fault is one line on stderr that names the option, its range and what was given, and exit code 2.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace toccata::cli {

class ArgParser {
 public:
  // command: as it is typed, for example "toccata run".
  ArgParser(std::string command, std::string description);
  ~ArgParser();
  ArgParser(const ArgParser&) = delete;
  ArgParser& operator=(const ArgParser&) = delete;

  // Options added from here on are listed under this heading of the help.
  void group(std::string title);
  // Shown after the options: examples, in full.
  void footer(std::string text);

  // names: "-m,--model". value keeps what it holds if the option is absent; the help shows that as the default.
  void flag(const std::string& names, bool& value, const std::string& help);
  void text(const std::string& names, std::string& value, const std::string& placeholder, const std::string& help);
  void choice(const std::string& names, std::string& value, std::vector<std::string> allowed, const std::string& help);
  void integer(const std::string& names, int64_t& value, int64_t low, int64_t high, const std::string& help);
  void number(const std::string& names, float& value, float low, float high, const std::string& help);
  // May be given several times; each adds one text, taken as it is.
  void texts(const std::string& names, std::vector<std::string>& values, const std::string& placeholder,
             const std::string& help);
  // Comma-separated, and may be given several times; the first use replaces the default.
  void integers(const std::string& names, std::vector<int64_t>& values, int64_t low, int64_t high,
                const std::string& help);
  // Arguments without a dash.
  void positionals(const std::string& name, std::vector<std::string>& values, const std::string& help);

  // nullopt: go on. Else the exit code: 0 after --help (printed to stdout), 2 after a fault (printed to stderr).
  std::optional<int> parse(int argc, char** argv);
  bool given(const std::string& name) const;  // for example "--seed"

  // Prints "command: message" with a hint to --help and returns 2, for faults found after parsing.
  int usage_error(const std::string& message) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The whole text as a number; nullopt if it is anything else or does not fit. Independent of the locale.
std::optional<int64_t> parse_integer(const std::string& text);
std::optional<double> parse_number(const std::string& text);

}  // namespace toccata::cli
