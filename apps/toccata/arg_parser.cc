#include "arg_parser.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "text/tokenizer/utf8_runs.h"

namespace toccata::cli {
namespace {

std::string shortest(float x) {
  char buffer[32];
  const auto r = std::to_chars(buffer, buffer + sizeof buffer, x);
  return std::string(buffer, r.ptr);
}

Status wrong(const std::string& expected, const std::string& value) {
  return fail(ErrorCode::kInvalidArgument, "must be " + expected + ", not " + quoted(value));
}

Result<int64_t> integer_within(const std::string& value, int64_t low, int64_t high) {
  const std::optional<int64_t> v = parse_integer(value);
  if (v && *v >= low && *v <= high) return *v;
  const Status s = wrong("an integer from " + std::to_string(low) + " to " + std::to_string(high), value);
  return tl::unexpected(s.error());
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    parts.emplace_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

std::string join(const std::vector<std::string>& parts, const char* between) {
  std::string all;
  for (const std::string& p : parts) all += (all.empty() ? "" : between) + p;
  return all;
}

// Insertions, deletions and substitutions that turn a into b (Levenshtein).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

template <class T>
std::optional<T> parse_whole(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  T v = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), v);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size()) return std::nullopt;
  return v;
}

}  // namespace

std::optional<int64_t> parse_integer(std::string_view text) { return parse_whole<int64_t>(text); }
std::optional<double> parse_number(std::string_view text) { return parse_whole<double>(text); }

std::string one_line(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    const bool control = c.code_point < 0x20 || (c.code_point >= 0x7f && c.code_point < 0xa0) ||
                         c.code_point == 0x2028 || c.code_point == 0x2029;
    if (c.valid && !control)
      out += text.substr(at, c.length);
    else
      out += '?';
    at += c.length;
  }
  return out;
}

std::string quoted(std::string_view text) {
  constexpr size_t kMost = 60;
  size_t end = 0;  // never inside a character
  while (end < std::min(text.size(), kMost)) end += decode_utf8(text, end).length;
  return "'" + one_line(text.substr(0, end)) + (end < text.size() ? "...'" : "'");
}

ArgParser::Option& ArgParser::add(std::string_view names, std::string placeholder, std::string help,
                                  std::string default_value, std::function<Status(const std::string&)> take) {
  Option o;
  o.names = split(names);
  o.placeholder = std::move(placeholder);
  o.help = std::move(help);
  o.default_value = std::move(default_value);
  o.heading = heading_;
  o.take = std::move(take);
  options_.push_back(std::move(o));
  return options_.back();
}

void ArgParser::flag(std::string_view names, bool& value, std::string help) {
  add(names, "", std::move(help), "", [&value](const std::string&) {
    value = true;
    return Status();
  });
}

void ArgParser::text(std::string_view names, std::string& value, std::string placeholder, std::string help) {
  add(names, std::move(placeholder), std::move(help), value, [&value](const std::string& v) {
    value = v;
    return Status();
  });
}

void ArgParser::choice(std::string_view names, std::string& value, std::vector<std::string> allowed, std::string help) {
  choice(names, std::vector<std::string*>{&value}, std::move(allowed), std::move(help));
}

void ArgParser::choice(std::string_view names, std::vector<std::string*> values, std::vector<std::string> allowed,
                       std::string help) {
  const std::string list = join(allowed, "|");
  add(names, list, std::move(help), *values.front(), [values, allowed, list](const std::string& v) {
    if (std::find(allowed.begin(), allowed.end(), v) == allowed.end()) return wrong(list, v);
    for (std::string* value : values) *value = v;
    return Status();
  });
}

void ArgParser::integer(std::string_view names, int64_t& value, int64_t low, int64_t high, std::string help) {
  add(names, "N", std::move(help), std::to_string(value), [&value, low, high](const std::string& v) -> Status {
    const Result<int64_t> n = integer_within(v, low, high);
    if (!n) return tl::unexpected(n.error());
    value = *n;
    return {};
  });
}

void ArgParser::number(std::string_view names, float& value, float low, float high, std::string help) {
  add(names, "X", std::move(help), shortest(value), [&value, low, high](const std::string& v) {
    const std::optional<double> d = parse_number(v);
    const float f = d ? static_cast<float>(*d) : NAN;
    if (!(f >= low && f <= high)) return wrong("a number from " + shortest(low) + " to " + shortest(high), v);
    value = f;
    return Status();
  });
}

void ArgParser::texts(std::string_view names, std::vector<std::string>& values, std::string placeholder,
                      std::string help) {
  add(names, std::move(placeholder), std::move(help), "", [&values](const std::string& v) {
    values.push_back(v);
    return Status();
  });
}

void ArgParser::integers(std::string_view names, std::vector<int64_t>& values, int64_t low, int64_t high,
                         std::string help) {
  std::vector<std::string> before;
  for (const int64_t v : values) before.push_back(std::to_string(v));
  const auto take = [&values, low, high, first = true](const std::string& list) mutable -> Status {
    if (std::exchange(first, false)) values.clear();
    for (const std::string& v : split(list)) {
      const Result<int64_t> n = integer_within(v, low, high);
      if (!n) return tl::unexpected(n.error());
      values.push_back(*n);
    }
    return {};
  };
  add(names, "N,N,...", std::move(help), join(before, ","), take);
}

void ArgParser::positionals(std::string placeholder, std::vector<std::string>& values, std::string help) {
  positionals_ = &values;
  positional_placeholder_ = std::move(placeholder);
  positional_help_ = std::move(help);
}

ArgParser::Option* ArgParser::find(std::string_view name) {
  for (Option& o : options_) {
    if (std::find(o.names.begin(), o.names.end(), name) != o.names.end()) return &o;
  }
  return nullptr;
}

bool ArgParser::given(std::string_view name) const {
  const Option* o = const_cast<ArgParser*>(this)->find(name);
  return o != nullptr && o->given;
}

std::string ArgParser::unknown(const std::string& name) const {
  const std::string* nearest = nullptr;
  size_t least = 3;  // farther than two edits is no help
  for (const Option& o : options_) {
    for (const std::string& n : o.names) {
      const size_t d = n.size() > 3 && name.size() < 64 ? edit_distance(name, n) : least;
      if (d < least) {
        least = d;
        nearest = &n;
      }
    }
  }
  return "there is no option " + quoted(name) + (nearest ? "; did you mean " + *nearest + "?" : "");
}

Status ArgParser::take_argument(const std::vector<std::string>& args, size_t& at) {
  const std::string& arg = args[at++];
  if (arg.size() < 2 || arg[0] != '-') {
    if (positionals_ == nullptr) {
      return fail(ErrorCode::kInvalidArgument, quoted(arg) + " is not an option, and no other arguments are taken");
    }
    positionals_->push_back(arg);
    return {};
  }
  const size_t equals = arg.compare(0, 2, "--") == 0 ? arg.find('=') : std::string::npos;
  const std::string name = arg.substr(0, equals);
  Option* o = find(name);
  if (o == nullptr) return fail(ErrorCode::kInvalidArgument, unknown(name));
  o->given = true;
  std::string value;
  if (equals != std::string::npos) {
    if (o->placeholder.empty()) return fail(ErrorCode::kInvalidArgument, name + " takes no value");
    value = arg.substr(equals + 1);
  } else if (!o->placeholder.empty()) {
    if (at == args.size()) return fail(ErrorCode::kInvalidArgument, name + " needs a value");
    value = args[at++];
  }
  Status s = o->take(value);
  return s ? s : fail(s.error().code, name + " " + s.error().message);
}

std::optional<int> ArgParser::parse(int argc, char** argv) {
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  for (size_t at = 0; at < args.size();) {
    if (args[at] == "--help" || args[at] == "-h") {
      print_help();
      return 0;
    }
    if (args[at] == "--") {
      while (++at < args.size()) {
        if (positionals_ == nullptr) return usage_error("no arguments are taken after '--'");
        positionals_->push_back(args[at]);
      }
      break;
    }
    if (const Status s = take_argument(args, at); !s) return usage_error(s.error().message);
  }
  return std::nullopt;
}

int ArgParser::usage_error(const std::string& message) const {
  std::fprintf(stderr, "%s: %s (see '%s --help')\n", command_.c_str(), message.c_str(), command_.c_str());
  return 2;
}

void ArgParser::print_help() const {
  constexpr int kColumn = 34;
  const std::string positional = positionals_ == nullptr ? "" : " " + positional_placeholder_;
  std::printf("%s\nUsage: %s [options]%s\n", description_.c_str(), command_.c_str(), positional.c_str());
  if (positionals_ != nullptr) {
    std::printf("\n  %-*s%s\n", kColumn, positional_placeholder_.c_str(), positional_help_.c_str());
  }
  const std::string* heading = nullptr;
  for (const Option& o : options_) {
    if (heading == nullptr || *heading != o.heading) {
      std::printf("\n%s:\n", o.heading.empty() ? "Options" : o.heading.c_str());
      heading = &o.heading;
    }
    const std::string names = join(o.names, ", ") + (o.placeholder.empty() ? "" : " " + o.placeholder);
    std::printf("  %-*s", kColumn, names.c_str());
    if (names.size() + 1 > kColumn) std::printf("\n  %-*s", kColumn, "");
    std::printf("%s%s\n", o.help.c_str(), o.default_value.empty() ? "" : (" [" + o.default_value + "]").c_str());
  }
  if (!footer_.empty()) std::printf("\n%s\n", footer_.c_str());
}

}  // namespace toccata::cli
