// Filters on text.
#include <algorithm>

#include "text/chat_template/fault.h"
#include "text/chat_template/filters.h"
#include "text/chat_template/format.h"
#include "text/chat_template/interpreter.h"
#include "text/chat_template/ops.h"
#include "text/chat_template/text_ops.h"
#include "text/chat_template/unicode.h"

namespace toccata::jinja {
namespace {

// Calls the str method of the same name on soft_str(value).
Value string_method(Interpreter& in, const Value& value, std::string_view name, Args& args) {
  return find_string_method(name)->body(in, soft_str(in.heap(), value), args);
}

Value filter_upper(Interpreter& in, const Value& value, Args& args) { return string_method(in, value, "upper", args); }
Value filter_lower(Interpreter& in, const Value& value, Args& args) { return string_method(in, value, "lower", args); }
Value filter_capitalize(Interpreter& in, const Value& value, Args& args) {
  return string_method(in, value, "capitalize", args);
}

Value filter_trim(Interpreter& in, const Value& value, Args& args) {
  const auto a = bind<1>("trim", args, {"chars"});
  Args strip;
  if (!a[0].is_missing()) strip.positional = {a[0]};
  return string_method(in, value, "strip", strip);
}

Value filter_center(Interpreter& in, const Value& value, Args& args) {
  const auto a = bind<1>("center", args, {"width"});
  Args center;
  center.positional = {value_or(a[0], Value::integer(80))};
  return string_method(in, value, "center", center);
}

Value filter_title(Interpreter& in, const Value& value, Args& args) {
  expect_no_args("title", args);
  const auto source = to_code_points(soft_str(in.heap(), value).text());
  const auto separates = [](uint32_t c) {
    return is_space(c) || (c < 0x80 && std::string_view("-({[<").find(static_cast<char>(c)) != std::string_view::npos);
  };
  std::string out;
  for (size_t i = 0; i < source.size();) {
    const bool separator = separates(source[i]);
    size_t end = i + 1;
    while (end < source.size() && separates(source[end]) == separator) ++end;
    const auto at = [&](size_t k) { return source.begin() + static_cast<long>(k); };
    out += to_upper(from_code_points({source[i]}));
    out += to_lower(from_code_points({at(i + 1), at(end)}));
    i = end;
  }
  return in.heap().str(std::move(out));
}

Value filter_replace(Interpreter& in, const Value& value, Args& args) {
  const auto a = bind<3>("replace", args, {"old", "new", "count"}, 2);
  const Int count = a[2].is_missing() || a[2].is_none() ? -1 : as_index(a[2]);
  Heap& heap = in.heap();
  return heap.str(
      replace_text(heap, to_str(heap, value).text(), to_str(heap, a[0]).text(), to_str(heap, a[1]).text(), count));
}

Value filter_format(Interpreter& in, const Value& value, Args& args) {
  if (!args.positional.empty() && !args.keyword.empty()) {
    raise("can't handle positional and keyword arguments at the same time");
  }
  const Value format = soft_str(in.heap(), value);
  if (args.keyword.empty()) return format_percent(in.heap(), format, in.heap().tuple(args.positional));
  Dict* names = in.heap().dict();
  for (auto& [key, given] : args.keyword) names->set(in.heap(), in.heap().str(key), given);
  return format_percent(in.heap(), format, names);
}

const Value& require_string(const Value& value, std::string_view filter) {
  check_defined(value);
  if (!value.is_string()) raise(std::string(filter) + " needs a string, not " + std::string(type_name(value)));
  return value;
}

Value filter_indent(Interpreter& in, const Value& value, Args& args) {
  Heap& heap = in.heap();
  const auto a = bind<3>("indent", args, {"width", "first", "blank"});
  require_string(value, "indent");
  if (a[0].is_string() && a[0].str().markup() && !value.str().markup()) refuse("indentation by Markup");
  const std::string indent = a[0].is_string() ? a[0].text() : std::string(bounded_size(heap, int_or(a[0], 4), 1), ' ');
  const bool blank = flag_or(heap, a[2], false);
  const std::string text = value.text() + "\n";
  std::string out = flag_or(heap, a[1], false) ? indent : "";
  bool first = true;
  for (std::string_view line : lines_of(text, false)) {
    heap.reserve(2 * out.size() + indent.size() + line.size());
    if (!first) out += "\n";
    if (!first && (blank || !line.empty())) out += indent;
    first = false;
    out += line;
  }
  return heap.str(std::move(out), value.str().markup());
}

Value filter_truncate(Interpreter& in, const Value& value, Args& args) {
  Heap& heap = in.heap();
  const auto a = bind<4>("truncate", args, {"length", "killwords", "end", "leeway"});
  const Int length = int_or(a[0], 255);
  const Value end = value_or(a[2], heap.str("..."));
  const Int leeway = a[3].is_missing() || a[3].is_none() ? 5 : as_index(a[3]);
  const Int end_length = static_cast<Int>(length_of(heap, end).value_or(0));
  if (length < end_length) raise("expected length >= " + int_text(end_length) + ", got " + int_text(length));
  if (leeway < 0) raise("expected leeway >= 0, got " + int_text(leeway));
  const auto size = length_of(heap, value);
  if (!size.has_value()) raise("object of type '" + std::string(type_name(value)) + "' has no len()");
  if (static_cast<Int>(*size) - leeway <= length) return value;
  require_string(value, "truncate");
  Value kept = slice(heap, value, None{}, Value(length - end_length), None{});
  if (!flag_or(heap, a[1], false)) {
    const size_t space = kept.text().rfind(' ');
    if (space != std::string::npos) kept = heap.str(kept.text().substr(0, space), value.str().markup());
  }
  return binary(heap, BinaryOp::kAdd, kept, end);
}

Value filter_wordcount(Interpreter& in, const Value& value, Args& args) {
  expect_no_args("wordcount", args);
  const Value text = soft_str(in.heap(), value);
  int64_t count = 0;
  bool inside = false;
  for (size_t pos = 0; pos < text.text().size();) {
    const uint32_t c = next_code_point(text.text(), pos);
    const bool word = c == '_' || is_alnum(c);
    count += word && !inside ? 1 : 0;
    inside = word;
  }
  return Value::integer(count);
}

// textwrap.wrap without hyphen breaks, on one line of text.
class Wrapper {
 public:
  Wrapper(Int width, bool break_long_words) : width_(width), break_long_words_(break_long_words) {}

  std::vector<std::string> wrap(std::string_view line) {
    split(line);
    std::vector<std::string> lines;
    for (size_t at = 0; at < chunks_.size();) {
      if (is_blank(chunks_[at]) && !lines.empty()) ++at;
      std::vector<std::string> current;
      Int used = 0;
      while (at < chunks_.size() && used + length(chunks_[at]) <= width_) {
        used += length(chunks_[at]);
        current.push_back(chunks_[at++]);
      }
      if (at < chunks_.size() && length(chunks_[at]) > width_) break_word(at, current, used);
      if (!current.empty() && is_blank(current.back())) current.pop_back();
      if (current.empty()) continue;
      std::string joined;
      for (const std::string& chunk : current) joined += chunk;
      lines.push_back(std::move(joined));
    }
    return lines;
  }

 private:
  static Int length(const std::string& chunk) { return static_cast<Int>(count_code_points(chunk)); }
  static bool is_blank(const std::string& chunk) { return strip(chunk).empty(); }

  // Runs of ASCII whitespace and runs of everything else.
  void split(std::string_view line) {
    chunks_.clear();
    for (size_t i = 0; i < line.size();) {
      const auto blank = [&](size_t k) {
        return std::string_view("\t\n\v\f\r ").find(line[k]) != std::string_view::npos;
      };
      size_t end = i + 1;
      while (end < line.size() && blank(end) == blank(i)) ++end;
      chunks_.emplace_back(line.substr(i, end - i));
      i = end;
    }
  }

  void break_word(size_t& at, std::vector<std::string>& current, Int used) {
    if (break_long_words_) {
      const size_t cut = byte_offset(chunks_[at], static_cast<size_t>(width_ - used));
      current.push_back(chunks_[at].substr(0, cut));
      chunks_[at].erase(0, cut);
    } else if (current.empty()) {
      current.push_back(chunks_[at++]);
    }
  }

  const Int width_;
  const bool break_long_words_;
  std::vector<std::string> chunks_;
};

Value filter_wordwrap(Interpreter& in, const Value& value, Args& args) {
  Heap& heap = in.heap();
  const auto a = bind<4>("wordwrap", args, {"width", "break_long_words", "wrapstring", "break_on_hyphens"});
  require_string(value, "wordwrap");
  if (flag_or(heap, a[3], true) && value.text().find('-') != std::string::npos) {
    refuse("wordwrap of text with hyphens (give break_on_hyphens=false)");
  }
  if (value.str().markup()) refuse("wordwrap of Markup");
  const std::string newline = a[2].is_missing() || a[2].is_none() ? "\n" : text_of(a[2], "wrapstring");
  Wrapper wrapper(int_or(a[0], 79), flag_or(heap, a[1], true));
  std::string out;
  bool first = true;
  for (std::string_view line : lines_of(value.text(), false)) {
    if (int_or(a[0], 79) <= 0 && !line.empty()) raise("invalid width (must be > 0)");
    heap.step_bytes(line.size() * 16);
    if (!first) out += newline;
    first = false;
    bool first_part = true;
    for (const std::string& part : wrapper.wrap(line)) {
      heap.reserve(2 * out.size() + part.size() + newline.size());
      if (!first_part) out += newline;
      first_part = false;
      out += part;
    }
  }
  return heap.str(std::move(out));
}

Value filter_filesizeformat(Interpreter& in, const Value& value, Args& args) {
  const auto a = bind<1>("filesizeformat", args, {"binary"});
  check_defined(value);
  double bytes = 0;
  if (value.is_number()) {
    bytes = as_double(value);
  } else {
    const auto parsed = parse_float(text_of(value, "the size"));
    if (!parsed.has_value()) raise("could not convert string to float: " + repr_string(value.text()));
    bytes = *parsed;
  }
  const bool binary_units = flag_or(in.heap(), a[0], false);
  const double base = binary_units ? 1024 : 1000;
  if (bytes == 1) return in.heap().str("1 Byte");
  if (bytes < base) return in.heap().str(int_text(truncate_to_int(bytes)) + " Bytes");
  const std::string_view letters = binary_units ? "KMGTPEZY" : "kMGTPEZY";
  double unit = base * base;
  size_t i = 0;
  for (; i + 1 < letters.size() && !(bytes < unit); ++i) unit *= base;
  return in.heap().str(float_digits(base * bytes / unit, 'f', 1, false, '-').digits + " " + letters[i] +
                       (binary_units ? "iB" : "B"));
}

constexpr FilterEntry kFilters[] = {
    {"capitalize", filter_capitalize}, {"center", filter_center}, {"filesizeformat", filter_filesizeformat},
    {"format", filter_format},         {"indent", filter_indent}, {"lower", filter_lower},
    {"replace", filter_replace},       {"title", filter_title},   {"trim", filter_trim},
    {"truncate", filter_truncate},     {"upper", filter_upper},   {"wordcount", filter_wordcount},
    {"wordwrap", filter_wordwrap},
};

}  // namespace

FilterBody find_text_filter(std::string_view name) { return find_entry(kFilters, name); }

FilterBody find_filter(std::string_view name) {
  for (const auto find :
       {find_text_filter, find_markup_filter, find_sequence_filter, find_selection_filter, find_value_filter}) {
    if (const FilterBody body = find(name)) return body;
  }
  return nullptr;
}

}  // namespace toccata::jinja
