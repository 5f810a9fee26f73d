#include "arg_parser.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include <CLI/CLI.hpp>

namespace toccata::cli {
namespace {

std::string shortest(double x) {
  char buffer[32];
  const auto r = std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(x));
  return std::string(buffer, r.ptr);
}

// What was typed, fit for one line of a terminal: control characters as '?', long texts cut.
std::string shown(const std::string& text) {
  std::string out;
  for (const char c : text.substr(0, 60)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return text.size() > 60 ? out + "..." : out;
}

CLI::ValidationError wrong(const std::string& names, const std::string& expected, const std::string& text) {
  return CLI::ValidationError(names.substr(names.find(',') == std::string::npos ? 0 : names.find(',') + 1),
                              "must be " + expected + ", not '" + shown(text) + "'");
}

std::string range(const std::string& kind, const std::string& low, const std::string& high) {
  return kind + " from " + low + " to " + high;
}

int64_t integer_within(const std::string& names, const std::string& text, int64_t low, int64_t high) {
  const std::optional<int64_t> v = parse_integer(text);
  if (!v || *v < low || *v > high) {
    throw wrong(names, range("an integer", std::to_string(low), std::to_string(high)), text);
  }
  return *v;
}

}  // namespace

std::optional<int64_t> parse_integer(const std::string& text) {
  int64_t v = 0;
  const char* begin = text.data() + (text.size() > 1 && text[0] == '+' && text[1] != '-' ? 1 : 0);
  const auto r = std::from_chars(begin, text.data() + text.size(), v);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size()) return std::nullopt;
  return v;
}

std::optional<double> parse_number(const std::string& text) {
  double v = 0;
  const char* begin = text.data() + (text.size() > 1 && text[0] == '+' && text[1] != '-' ? 1 : 0);
  const auto r = std::from_chars(begin, text.data() + text.size(), v);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size()) return std::nullopt;
  return v;
}

struct ArgParser::Impl {
  CLI::App app;
  std::string command;
  std::string heading;

  explicit Impl(const std::string& description) : app(description) {}

  CLI::Option* add(const std::string& names, const std::string& placeholder, const std::string& help,
                   std::function<void(const std::string&)> take) {
    CLI::Option* o = app.add_option_function<std::string>(names, std::move(take), help);
    o->type_name(placeholder)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    if (!heading.empty()) o->group(heading);
    return o;
  }
};

ArgParser::ArgParser(std::string command, std::string description) : impl_(std::make_unique<Impl>(description)) {
  impl_->command = std::move(command);
  impl_->app.name(impl_->command);
  impl_->app.set_help_flag("-h,--help", "print this help");
  impl_->app.get_formatter()->column_width(34);
}

ArgParser::~ArgParser() = default;

void ArgParser::group(std::string title) { impl_->heading = std::move(title); }

void ArgParser::footer(std::string text) { impl_->app.footer(std::move(text)); }

void ArgParser::flag(const std::string& names, bool& value, const std::string& help) {
  CLI::Option* o = impl_->app.add_flag_callback(names, [&value] { value = true; }, help);
  if (!impl_->heading.empty()) o->group(impl_->heading);
}

void ArgParser::text(const std::string& names, std::string& value, const std::string& placeholder,
                     const std::string& help) {
  CLI::Option* o = impl_->add(names, placeholder, help, [&value](const std::string& t) { value = t; });
  if (!value.empty()) o->default_str(value);
}

void ArgParser::choice(const std::string& names, std::string& value, std::vector<std::string> allowed,
                       const std::string& help) {
  std::string list;
  for (const std::string& a : allowed) list += (list.empty() ? "" : "|") + a;
  const auto take = [&value, allowed, names, list](const std::string& t) {
    if (std::find(allowed.begin(), allowed.end(), t) == allowed.end()) throw wrong(names, list, t);
    value = t;
  };
  impl_->add(names, list, help, take)->default_str(value);
}

void ArgParser::integer(const std::string& names, int64_t& value, int64_t low, int64_t high, const std::string& help) {
  const auto take = [&value, low, high, names](const std::string& t) { value = integer_within(names, t, low, high); };
  impl_->add(names, "N", help, take)->default_str(std::to_string(value));
}

void ArgParser::number(const std::string& names, float& value, float low, float high, const std::string& help) {
  const auto take = [&value, low, high, names](const std::string& t) {
    const std::optional<double> v = parse_number(t);
    // The bounds are floats, the text may be between one and its float: compare what would be stored.
    const float f = v ? static_cast<float>(*v) : NAN;
    if (!(f >= low && f <= high)) throw wrong(names, range("a number", shortest(low), shortest(high)), t);
    value = f;
  };
  impl_->add(names, "X", help, take)->default_str(shortest(value));
}

void ArgParser::texts(const std::string& names, std::vector<std::string>& values, const std::string& placeholder,
                      const std::string& help) {
  // trigger_on_parse: the callback sees each use by itself, so nothing is split or joined.
  impl_->add(names, placeholder, help, [&values](const std::string& t) { values.push_back(t); })->trigger_on_parse();
}

void ArgParser::integers(const std::string& names, std::vector<int64_t>& values, int64_t low, int64_t high,
                         const std::string& help) {
  std::string before;
  for (const int64_t v : values) before += (before.empty() ? "" : ",") + std::to_string(v);
  const auto take = [&values, low, high, names, first = true](const std::string& t) mutable {
    if (std::exchange(first, false)) values.clear();
    for (size_t at = 0; at <= t.size();) {
      const size_t comma = std::min(t.find(',', at), t.size());
      values.push_back(integer_within(names, t.substr(at, comma - at), low, high));
      at = comma + 1;
    }
  };
  impl_->add(names, "N,N,...", help, take)->trigger_on_parse()->default_str(before);
}

void ArgParser::positionals(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  impl_->app.add_option(name, values, help)->type_name("");
}

std::optional<int> ArgParser::parse(int argc, char** argv) {
  try {
    impl_->app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    std::fputs(impl_->app.help().c_str(), stdout);
    return std::fflush(stdout) == 0 ? 0 : 1;
  } catch (const CLI::ParseError& e) {
    return usage_error(e.what());
  }
}

bool ArgParser::given(const std::string& name) const { return impl_->app.count(name) > 0; }

int ArgParser::usage_error(const std::string& message) const {
  std::string line;
  for (const char c : message) line += c == '\n' ? ' ' : c;
  std::fprintf(stderr, "%s: %s (see '%s --help')\n", impl_->command.c_str(), line.c_str(), impl_->command.c_str());
  return 2;
}

}  // namespace toccata::cli
