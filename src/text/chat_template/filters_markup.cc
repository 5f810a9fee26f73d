// Filters for HTML, XML and URLs.
#include <algorithm>

#include "text/chat_template/fault.h"
#include "text/chat_template/filters.h"
#include "text/chat_template/interpreter.h"
#include "text/chat_template/ops.h"
#include "text/chat_template/unicode.h"

namespace toccata::jinja {
namespace {

Value filter_escape(Interpreter& in, const Value& value, Args& args) {
  expect_no_args("escape", args);
  return escape(in.heap(), value);
}

Value filter_forceescape(Interpreter& in, const Value& value, Args& args) {
  expect_no_args("forceescape", args);
  return escape(in.heap(), to_str(in.heap(), value));
}

Value filter_safe(Interpreter& in, const Value& value, Args& args) {
  expect_no_args("safe", args);
  if (value.is_string() && value.str().markup()) return value;
  return in.heap().str(to_str(in.heap(), value).text(), true);
}

Value filter_string(Interpreter& in, const Value& value, Args& args) {
  expect_no_args("string", args);
  return soft_str(in.heap(), value);
}

// Starts from the front after each cut, as markupsafe does: a cut may join a new opening.
void cut_between(Heap& heap, std::string& text, std::string_view open, std::string_view close) {
  while (true) {
    heap.step_bytes(text.size());
    const size_t start = text.find(open);
    const size_t end = start == std::string::npos ? std::string::npos : text.find(close, start);
    if (end == std::string::npos) return;
    text.erase(start, end + close.size() - start);
  }
}

Value filter_striptags(Interpreter& in, const Value& value, Args& args) {
  expect_no_args("striptags", args);
  std::string text = to_str(in.heap(), value).text();
  if (text.find('&') != std::string::npos) refuse("striptags on text with HTML entities");
  cut_between(in.heap(), text, "<!--", "-->");
  cut_between(in.heap(), text, "<", ">");
  std::string out;
  for (std::string_view rest = strip(text); !rest.empty(); rest = strip_left(rest)) {
    size_t end = 0;
    while (end < rest.size()) {
      size_t next = end;
      if (is_space(next_code_point(rest, next))) break;
      end = next;
    }
    if (!out.empty()) out += ' ';
    out += rest.substr(0, end);
    rest = rest.substr(end);
  }
  return in.heap().str(std::move(out));
}

std::string url_quote(Heap& heap, const Value& value, bool for_query) {
  const Str text = to_str(heap, value);
  heap.reserve(text.text().size() * 3);
  std::string out;
  for (char c : text.text()) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                       c == '.' || c == '-' || c == '~' || (c == '/' && !for_query);
    if (plain) {
      out += c;
    } else if (c == ' ' && for_query) {
      out += '+';
    } else {
      out += '%';
      out += "0123456789ABCDEF"[byte >> 4];
      out += "0123456789ABCDEF"[byte & 15];
    }
  }
  return out;
}

Value filter_urlencode(Interpreter& in, const Value& value, Args& args) {
  Heap& heap = in.heap();
  expect_no_args("urlencode", args);
  if (value.is_string() || !is_iterable(value)) return heap.str(url_quote(heap, value, false));
  const auto* dict = value.as<Dict>();
  const auto pairs = to_vector(heap, dict != nullptr ? Value(heap.make<View>(dict, View::Part::kItems)) : value);
  std::string out;
  for (const Value& pair : pairs) {
    const auto items = to_vector(heap, pair);
    if (items.size() != 2) raise("urlencode needs pairs");
    if (!out.empty()) out += '&';
    out += url_quote(heap, items[0], true) + "=" + url_quote(heap, items[1], true);
    heap.reserve(2 * out.size());
  }
  return heap.str(std::move(out));
}

Value filter_xmlattr(Interpreter& in, const Value& value, Args& args) {
  Heap& heap = in.heap();
  const auto a = bind<1>("xmlattr", args, {"autospace"});
  check_defined(value);
  const auto* dict = value.as<Dict>();
  if (dict == nullptr) raise(cat({"'", type_name(value), "' object has no attribute 'items'"}));
  std::string out;
  for (const auto& [key, item] : dict->entries) {
    if (item.is_none() || item.is(Kind::kUndefined)) continue;
    const std::string& name = text_of(key, "an attribute name");
    if (name.find_first_of(" \t\n\r\f\v/>=") != std::string::npos) {
      raise("Invalid character in attribute name: " + repr_string(name));
    }
    if (!out.empty()) out += ' ';
    out += escape(heap, key).text() + "=\"" + escape(heap, item).text() + "\"";
    heap.reserve(2 * out.size());
  }
  if (!out.empty() && flag_or(heap, a[0], true)) out.insert(0, 1, ' ');
  return heap.str(std::move(out));
}

Value filter_urlize(Interpreter&, const Value&, Args&) { refuse("the filter 'urlize'"); }

constexpr FilterEntry kFilters[] = {
    {"e", filter_escape},
    {"escape", filter_escape},
    {"forceescape", filter_forceescape},
    {"safe", filter_safe},
    {"string", filter_string},
    {"striptags", filter_striptags},
    {"urlencode", filter_urlencode},
    {"urlize", filter_urlize},
    {"xmlattr", filter_xmlattr},
};

}  // namespace

FilterBody find_markup_filter(std::string_view name) { return find_entry(kFilters, name); }

}  // namespace toccata::jinja
