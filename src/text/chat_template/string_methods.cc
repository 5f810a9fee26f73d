// The methods of str. Results of Markup's methods are Markup again, as in markupsafe.
#include <algorithm>

#include "base/utf8.h"
#include "text/chat_template/builtins.h"
#include "text/chat_template/fault.h"
#include "text/chat_template/format.h"
#include "text/chat_template/interpreter.h"
#include "text/chat_template/ops.h"
#include "text/chat_template/text_ops.h"
#include "text/chat_template/unicode.h"

namespace toccata::jinja {
namespace {

Value like(Heap& heap, const Value& self, std::string text) { return heap.str(std::move(text), self.str().markup()); }

Value list_like(Heap& heap, const Value& self, const std::vector<std::string_view>& parts) {
  std::vector<Value> out;
  heap.reserve(parts.size() * sizeof(Value));
  for (std::string_view part : parts) out.push_back(like(heap, self, std::string(part)));
  return heap.list(std::move(out));
}

// What Markup puts into its text: escaped.
std::string guest(Heap& heap, const Value& self, const Value& argument) {
  return self.str().markup() ? escape(heap, argument).text() : argument.text();
}

template <std::string (*Map)(std::string_view)>
Value mapped(Interpreter& in, const Value& self, Args& args) {
  expect_no_args("str method", args);
  in.heap().reserve(self.text().size() * 3);
  return like(in.heap(), self, Map(self.text()));
}

// isX(): true when the text is not empty and all its characters are X.
template <bool (*Is)(uint32_t)>
Value all_are(Interpreter&, const Value& self, Args& args) {
  expect_no_args("str method", args);
  for (size_t pos = 0; pos < self.text().size();) {
    if (!Is(next_code_point(self.text(), pos))) return Value(false);
  }
  return Value(!self.text().empty());
}

Value is_ascii(Interpreter&, const Value& self, Args& args) {
  expect_no_args("isascii", args);
  return Value(self.str().ascii());
}

Value is_printable_text(Interpreter& in, const Value& self, Args& args) {
  return Value(self.text().empty() || all_are<is_printable>(in, self, args).boolean());
}

Value is_identifier(Interpreter&, const Value& self, Args& args) {
  expect_no_args("isidentifier", args);
  const auto text = to_code_points(self.text());
  return Value(!text.empty() && is_id_start(text[0]) && std::all_of(text.begin() + 1, text.end(), is_id_continue));
}

Value is_lower_text(Interpreter&, const Value& self, Args& args) {
  expect_no_args("islower", args);
  return Value(has_case(self.text(), true));
}

Value is_upper_text(Interpreter&, const Value& self, Args& args) {
  expect_no_args("isupper", args);
  return Value(has_case(self.text(), false));
}

Value is_title_text(Interpreter&, const Value& self, Args& args) {
  expect_no_args("istitle", args);
  bool inside = false, any = false;
  for (size_t pos = 0; pos < self.text().size();) {
    const uint32_t c = next_code_point(self.text(), pos);
    if (is_upper(c) || is_title(c)) {
      if (inside) return Value(false);
      inside = any = true;
    } else if (is_lower(c)) {
      if (!inside) return Value(false);
    } else {
      inside = false;
    }
  }
  return Value(any);
}

template <bool Left, bool Right>
Value strip_method(Interpreter& in, const Value& self, Args& args) {
  const auto a = bind<1>("strip", args, {"chars"}, 0, 1);
  const bool spaces = a[0].is_missing() || a[0].is_none();
  if (!spaces) text_of(a[0], "strip arg");
  return like(in.heap(), self, std::string(strip_text(self.text(), spaces ? nullptr : &a[0].text(), Left, Right)));
}

template <bool FromRight>
Value split_method(Interpreter& in, const Value& self, Args& args) {
  const auto a = bind<2>("split", args, {"sep", "maxsplit"});
  const Int limit = int_or(a[1], -1);
  const bool spaces = a[0].is_missing() || a[0].is_none();
  if (!spaces && text_of(a[0], "sep").empty()) raise("empty separator");
  in.heap().reserve(self.text().size() * 16);
  return list_like(in.heap(), self, split_text(self.text(), spaces ? nullptr : &a[0].text(), limit, FromRight));
}

Value split_lines(Interpreter& in, const Value& self, Args& args) {
  const auto a = bind<1>("splitlines", args, {"keepends"});
  in.heap().reserve(self.text().size() * 16);
  return list_like(in.heap(), self, lines_of(self.text(), flag_or(in.heap(), a[0], false)));
}

// The part of the text that the optional start and end arguments select; nothing when start is behind the end.
std::optional<std::string_view> selected(const Value& self, const Value& start, const Value& stop, size_t& skipped) {
  const Int n = static_cast<Int>(self.str().length());
  const auto bound = [&](const Value& v, Int fallback) {
    if (v.is_missing() || v.is_none()) return fallback;
    const Int i = as_index(v);
    return i < 0 ? std::max(i + n, Int{0}) : i;
  };
  const Int from = bound(start, 0);
  const Int to = std::min(bound(stop, n), n);
  if (from > to) return std::nullopt;
  skipped = static_cast<size_t>(from);
  const size_t begin = byte_offset(self.text(), skipped);
  const std::string_view tail = std::string_view(self.text()).substr(begin);
  return tail.substr(0, byte_offset(tail, static_cast<size_t>(to - from)));
}

long find_in(const Value& self, Args& args, bool last, std::string_view name) {
  const auto a = bind<3>(name, args, {"sub", "start", "end"}, 1, 3);
  const std::string& sub = text_of(a[0], "argument 1");
  size_t skipped = 0;
  const auto part = selected(self, a[1], a[2], skipped);
  if (!part.has_value()) return -1;
  const size_t at = last ? part->rfind(sub) : part->find(sub);
  if (at == std::string_view::npos) return -1;
  return static_cast<long>(skipped + count_code_points(part->substr(0, at)));
}

template <bool Last, bool MustExist>
Value find_method(Interpreter&, const Value& self, Args& args) {
  const long at = find_in(self, args, Last, Last ? "rfind" : "find");
  if (MustExist && at < 0) raise("substring not found");
  return Value::integer(at);
}

Value count_method(Interpreter&, const Value& self, Args& args) {
  const auto a = bind<3>("count", args, {"sub", "start", "end"}, 1, 3);
  const std::string& sub = text_of(a[0], "argument 1");
  size_t skipped = 0;
  const auto part = selected(self, a[1], a[2], skipped);
  if (!part.has_value()) return Value::integer(0);
  if (sub.empty()) return Value::integer(static_cast<int64_t>(count_code_points(*part)) + 1);
  int64_t count = 0;
  for (size_t at = part->find(sub); at != std::string_view::npos; at = part->find(sub, at + sub.size())) ++count;
  return Value::integer(count);
}

template <bool Suffix>
Value affix_test(Interpreter&, const Value& self, Args& args) {
  const auto a = bind<3>(Suffix ? "endswith" : "startswith", args, {"prefix", "start", "end"}, 1, 3);
  size_t skipped = 0;
  const auto part = selected(self, a[1], a[2], skipped);
  const auto matches = [&](const Value& affix) {
    const std::string& text = text_of(affix, "the affix");
    if (!part.has_value() || text.size() > part->size()) return false;
    return (Suffix ? part->substr(part->size() - text.size()) : part->substr(0, text.size())) == text;
  };
  if (const auto* options = a[0].as<Tuple>()) {
    return Value(std::any_of(options->items.begin(), options->items.end(), matches));
  }
  return Value(matches(a[0]));
}

Value replace_method(Interpreter& in, const Value& self, Args& args) {
  const auto a = bind<3>("replace", args, {"old", "new", "count"}, 2, 3);
  text_of(a[0], "argument 1");
  if (!self.str().markup()) text_of(a[1], "argument 2");
  return like(in.heap(), self,
              replace_text(in.heap(), self.text(), a[0].text(), guest(in.heap(), self, a[1]), int_or(a[2], -1)));
}

Value join_method(Interpreter& in, const Value& self, Args& args) {
  const auto a = bind<1>("join", args, {"iterable"}, 1, 1);
  std::string out;
  bool first = true;
  for (const Value& item : to_vector(in.heap(), a[0])) {
    if (!item.is_string() && !self.str().markup()) {
      raise("sequence item: expected str instance, " + std::string(type_name(item)) + " found");
    }
    const std::string part = guest(in.heap(), self, item);
    in.heap().reserve(2 * out.size() + part.size() + self.text().size());
    if (!first) out += self.text();
    first = false;
    out += part;
  }
  return like(in.heap(), self, std::move(out));
}

enum class Side { kLeft, kRight, kBoth };

template <Side side>
Value pad_method(Interpreter& in, const Value& self, Args& args) {
  const auto a = bind<2>("center", args, {"width", "fillchar"}, 1, 2);
  if (!a[1].is_missing()) text_of(a[1], "the fill character");
  const std::string fill = a[1].is_missing() ? " " : guest(in.heap(), self, a[1]);
  if (count_code_points(fill) != 1) raise("The fill character must be exactly one character long");
  const Int width = as_index(a[0]);
  const Int length = static_cast<Int>(self.str().length());
  if (width <= length) return like(in.heap(), self, self.text());
  const size_t total = bounded_size(in.heap(), width - length, fill.size());
  // str.center puts the odd space to the left when the width is odd, too.
  const size_t left = side == Side::kRight  ? 0
                      : side == Side::kLeft ? total
                                            : total / 2 + (total & static_cast<size_t>(width) & 1);
  return like(in.heap(), self, repeat_text(fill, left) + self.text() + repeat_text(fill, total - left));
}

Value zfill_method(Interpreter& in, const Value& self, Args& args) {
  const auto a = bind<1>("zfill", args, {"width"}, 1, 1);
  const Int missing = as_index(a[0]) - static_cast<Int>(self.str().length());
  if (missing <= 0) return like(in.heap(), self, self.text());
  const size_t sign = !self.text().empty() && (self.text()[0] == '-' || self.text()[0] == '+') ? 1 : 0;
  std::string out = self.text();
  out.insert(sign, std::string(bounded_size(in.heap(), missing, 1), '0'));
  return like(in.heap(), self, std::move(out));
}

Value expand_tabs(Interpreter& in, const Value& self, Args& args) {
  const auto a = bind<1>("expandtabs", args, {"tabsize"});
  const Int given = int_or(a[0], 8);
  const size_t size = given <= 0 ? 0 : bounded_size(in.heap(), given, 1);
  std::string out;
  size_t column = 0;
  for (char c : self.text()) {
    if (c == '\t') {
      const size_t gap = size == 0 ? 0 : size - column % size;
      in.heap().reserve(2 * out.size() + gap);
      out.append(gap, ' ');
      column += gap;
      continue;
    }
    out += c;
    if (c == '\n' || c == '\r')
      column = 0;
    else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80)
      ++column;
  }
  return like(in.heap(), self, std::move(out));
}

template <bool Last>
Value partition_method(Interpreter& in, const Value& self, Args& args) {
  const auto a = bind<1>("partition", args, {"sep"}, 1, 1);
  const std::string& sep = text_of(a[0], "sep");
  if (sep.empty()) raise("empty separator");
  const std::string& text = self.text();
  const size_t at = Last ? text.rfind(sep) : text.find(sep);
  const auto part = [&](std::string s) { return like(in.heap(), self, std::move(s)); };
  if (at == std::string::npos) {
    if (Last) return in.heap().tuple({part(""), part(""), part(text)});
    return in.heap().tuple({part(text), part(""), part("")});
  }
  return in.heap().tuple({part(text.substr(0, at)), part(sep), part(text.substr(at + sep.size()))});
}

template <bool Suffix>
Value remove_affix(Interpreter& in, const Value& self, Args& args) {
  const auto a = bind<1>("removeprefix", args, {"affix"}, 1, 1);
  const std::string& affix = text_of(a[0], "the affix");
  std::string_view text = self.text();
  const size_t n = std::min(affix.size(), text.size());
  if (Suffix ? text.substr(text.size() - n) == affix : text.substr(0, n) == affix) {
    text = Suffix ? text.substr(0, text.size() - n) : text.substr(n);
  }
  return like(in.heap(), self, std::string(text));
}

Value format_method(Interpreter& in, const Value& self, Args& args) {
  if (self.str().markup()) refuse("Markup.format");
  return format_braces(in.heap(), self.text(), args);
}

constexpr MethodEntry kMethods[] = {
    {"capitalize", mapped<capitalize>},
    {"casefold", mapped<case_fold>},
    {"center", pad_method<Side::kBoth>},
    {"count", count_method},
    {"encode", nullptr},
    {"endswith", affix_test<true>},
    {"expandtabs", expand_tabs},
    {"find", find_method<false, false>},
    {"format", format_method},
    {"format_map", nullptr},
    {"index", find_method<false, true>},
    {"isalnum", all_are<is_alnum>},
    {"isalpha", all_are<is_alpha>},
    {"isascii", is_ascii},
    {"isdecimal", all_are<is_decimal>},
    {"isdigit", all_are<is_digit>},
    {"isidentifier", is_identifier},
    {"islower", is_lower_text},
    {"isnumeric", all_are<is_numeric>},
    {"isprintable", is_printable_text},
    {"isspace", all_are<is_space>},
    {"istitle", is_title_text},
    {"isupper", is_upper_text},
    {"join", join_method},
    {"ljust", pad_method<Side::kRight>},
    {"lower", mapped<to_lower>},
    {"lstrip", strip_method<true, false>},
    {"maketrans", nullptr},
    {"partition", partition_method<false>},
    {"removeprefix", remove_affix<false>},
    {"removesuffix", remove_affix<true>},
    {"replace", replace_method},
    {"rfind", find_method<true, false>},
    {"rindex", find_method<true, true>},
    {"rjust", pad_method<Side::kLeft>},
    {"rpartition", partition_method<true>},
    {"rsplit", split_method<true>},
    {"rstrip", strip_method<false, true>},
    {"split", split_method<false>},
    {"splitlines", split_lines},
    {"startswith", affix_test<false>},
    {"strip", strip_method<true, true>},
    {"swapcase", mapped<swap_case>},
    {"title", mapped<to_title>},
    {"translate", nullptr},
    {"upper", mapped<to_upper>},
    {"zfill", zfill_method},
};

}  // namespace

const MethodEntry* find_string_method(std::string_view name) {
  const auto* entry =
      std::find_if(std::begin(kMethods), std::end(kMethods), [&](const auto& e) { return e.name == name; });
  return entry == std::end(kMethods) ? nullptr : entry;
}

}  // namespace toccata::jinja
