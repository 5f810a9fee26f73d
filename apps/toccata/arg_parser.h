// Command lines of the subcommands: options in the forms "--name value", "--name=value" and "-n value", where the
// value is taken as it is (it may begin with a dash). Names may have several letters after one dash, as llama.cpp's
// -ctk and -ub. "--" ends the options.
//
// Every fault is one line on stderr that names the option, its range and what was given, and exit code 2.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "toccata/result.h"

namespace toccata::cli {

class ArgParser {
 public:
  // command: as it is typed, for example "toccata run".
  ArgParser(std::string command, std::string description)
      : command_(std::move(command)), description_(std::move(description)) {}

  // Options added from here on are listed under this heading of the help.
  void group(std::string heading) { heading_ = std::move(heading); }
  // Shown after the options: examples, in full.
  void footer(std::string text) { footer_ = std::move(text); }

  // names: "-m,--model". value keeps what it holds if the option is absent; the help shows that as the default.
  void flag(std::string_view names, bool& value, std::string help);
  void text(std::string_view names, std::string& value, std::string placeholder, std::string help);
  void choice(std::string_view names, std::string& value, std::vector<std::string> allowed, std::string help);
  // Gives several values the same choice, in the order of the command line; the first one's is shown as the default.
  void choice(std::string_view names, std::vector<std::string*> values, std::vector<std::string> allowed,
              std::string help);
  void integer(std::string_view names, int64_t& value, int64_t low, int64_t high, std::string help);
  void number(std::string_view names, float& value, float low, float high, std::string help);
  // May be given several times; each use adds one text.
  void texts(std::string_view names, std::vector<std::string>& values, std::string placeholder, std::string help);
  // Comma-separated, and may be given several times; the first use replaces the default.
  void integers(std::string_view names, std::vector<int64_t>& values, int64_t low, int64_t high, std::string help);
  // Arguments that are no options. Without this they are a fault.
  void positionals(std::string placeholder, std::vector<std::string>& values, std::string help);

  // nullopt: go on. Else the exit code: 0 after --help (printed to stdout), 2 after a fault (printed to stderr).
  std::optional<int> parse(int argc, char** argv);
  bool given(std::string_view name) const;  // for example "--seed"

  // Prints "command: message" with a hint to --help and returns 2; also for faults found after parsing.
  int usage_error(const std::string& message) const;

 private:
  struct Option {
    std::vector<std::string> names;
    std::string placeholder;  // empty: the option takes no value
    std::string help;
    std::string default_value;
    std::string heading;
    std::function<Status(const std::string& value)> take;
    bool given = false;
  };
  Option& add(std::string_view names, std::string placeholder, std::string help, std::string default_value,
              std::function<Status(const std::string&)> take);
  Option* find(std::string_view name);
  Status take_argument(const std::vector<std::string>& args, size_t& at);
  std::string unknown(const std::string& name) const;
  void print_help() const;

  std::string command_, description_, heading_, footer_;
  std::vector<Option> options_;
  std::vector<std::string>* positionals_ = nullptr;
  std::string positional_placeholder_, positional_help_;
};

// The whole text as a number; nullopt if it is anything else or does not fit. Independent of the locale.
std::optional<int64_t> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);

// Outside text, fit for one line of a terminal: control characters and bytes that are not UTF-8 as '?'.
std::string one_line(std::string_view text);
// The same in quotes, and long texts cut.
std::string quoted(std::string_view text);

}  // namespace toccata::cli
