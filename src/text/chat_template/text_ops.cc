#include "text/chat_template/text_ops.h"

#include <algorithm>

#include "text/chat_template/unicode.h"

namespace toccata::jinja {
namespace {

size_t last_code_point(std::string_view text) {
  size_t start = text.size() - 1;
  while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
  return start;
}

std::vector<std::string_view> split_spaces(std::string_view text, Int limit, bool from_right) {
  std::vector<std::string_view> out;
  text = from_right ? strip_right(text) : strip_left(text);
  while (!text.empty()) {
    if (limit >= 0 && static_cast<Int>(out.size()) == limit) {
      out.push_back(from_right ? strip_right(text) : text);
      break;
    }
    size_t edge = from_right ? text.size() : 0;  // walks over one word
    if (from_right) {
      while (edge > 0) {
        size_t start = last_code_point(text.substr(0, edge));
        size_t pos = start;
        if (is_space(next_code_point(text, pos))) break;
        edge = start;
      }
      out.push_back(text.substr(edge));
      text = strip_right(text.substr(0, edge));
    } else {
      while (edge < text.size()) {
        size_t next = edge;
        if (is_space(next_code_point(text, next))) break;
        edge = next;
      }
      out.push_back(text.substr(0, edge));
      text = strip_left(text.substr(edge));
    }
  }
  return out;
}

}  // namespace

std::string_view strip_text(std::string_view text, const std::string* chars, bool left, bool right) {
  if (chars == nullptr) {
    if (left) text = strip_left(text);
    return right ? strip_right(text) : text;
  }
  const auto set = to_code_points(*chars);
  const auto in_set = [&](std::string_view at) {
    size_t pos = 0;
    return std::find(set.begin(), set.end(), next_code_point(at, pos)) != set.end();
  };
  while (left && !text.empty() && in_set(text)) {
    size_t pos = 0;
    next_code_point(text, pos);
    text = text.substr(pos);
  }
  while (right && !text.empty() && in_set(text.substr(last_code_point(text)))) {
    text = text.substr(0, last_code_point(text));
  }
  return text;
}

std::vector<std::string_view> split_text(std::string_view text, const std::string* sep, Int limit, bool from_right) {
  std::vector<std::string_view> out;
  if (sep == nullptr) {
    out = split_spaces(text, limit, from_right);
  } else {
    while (limit < 0 || static_cast<Int>(out.size()) < limit) {
      const size_t at = from_right ? text.rfind(*sep) : text.find(*sep);
      if (at == std::string_view::npos) break;
      out.push_back(from_right ? text.substr(at + sep->size()) : text.substr(0, at));
      text = from_right ? text.substr(0, at) : text.substr(at + sep->size());
    }
    out.push_back(text);
  }
  if (from_right) std::reverse(out.begin(), out.end());
  return out;
}

std::vector<std::string_view> lines_of(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> out;
  size_t begin = 0;
  for (size_t pos = 0; pos < text.size();) {
    const size_t at = pos;
    const uint32_t c = next_code_point(text, pos);
    if (!is_line_break(c)) continue;
    if (c == '\r' && pos < text.size() && text[pos] == '\n') ++pos;
    out.push_back(text.substr(begin, (keep_ends ? pos : at) - begin));
    begin = pos;
  }
  if (begin < text.size()) out.push_back(text.substr(begin));
  return out;
}

std::string replace_text(Heap& heap, std::string_view text, std::string_view old, std::string_view with, Int count) {
  heap.step_bytes(text.size());
  std::string out;
  size_t pos = 0;
  const auto more = [&] { return count < 0 || count-- > 0; };
  if (old.empty()) {  // before every character and at the end
    size_t copied = 0;
    while (more()) {
      heap.reserve(2 * out.size() + with.size());
      out += with;
      if (copied == text.size()) return out;
      next_code_point(text, copied);
      out += text.substr(pos, copied - pos);
      pos = copied;
    }
    return out += text.substr(pos);
  }
  for (size_t at = text.find(old); at != std::string_view::npos && more(); at = text.find(old, pos)) {
    heap.reserve(2 * out.size() + (at - pos) + with.size());
    out += text.substr(pos, at - pos);
    out += with;
    pos = at + old.size();
  }
  return out += text.substr(pos);
}

bool has_case(std::string_view text, bool lower) {
  bool any = false;
  for (size_t pos = 0; pos < text.size();) {
    const uint32_t c = next_code_point(text, pos);
    if (is_title(c) || (lower ? is_upper(c) : is_lower(c))) return false;
    any = any || (lower ? is_lower(c) : is_upper(c));
  }
  return any;
}

std::string repeat_text(std::string_view text, size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

size_t bounded_size(const Heap& heap, Int count, size_t unit_bytes) {
  if (count <= 0) return 0;
  const Int most = Int{1} << 40;
  const auto units = static_cast<size_t>(std::min(count, most));
  heap.reserve(units * std::max<size_t>(unit_bytes, 1));
  return units;
}

}  // namespace toccata::jinja
