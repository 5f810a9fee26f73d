#include "server/openai/tool_calls.h"

#include <algorithm>
#include <optional>

#include <boost/json.hpp>

#include "server/json_fields.h"

namespace toccata::server {
namespace json = boost::json;

namespace {

constexpr std::string_view kOpen = "<tool_call>", kClose = "</tool_call>", kMistral = "[TOOL_CALLS]",
                           kPython = "<|python_tag|>", kSpace = " \t\r\n";

std::string_view trimmed(std::string_view s) {
  const size_t first = s.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(kSpace) + 1 - first);
}

std::optional<ToolCall> call_of(const json::object& o) {
  const json::value* name = o.if_contains("name");
  const json::value* arguments = o.if_contains("arguments");
  if (arguments == nullptr) arguments = o.if_contains("parameters");
  if (name == nullptr || !name->is_string() || arguments == nullptr) return std::nullopt;
  ToolCall call;
  call.name.assign(name->get_string().data(), name->get_string().size());
  const json::string* text = arguments->if_string();  // some models write the JSON into a string
  call.arguments = text != nullptr ? std::string(text->data(), text->size()) : json::serialize(*arguments);
  return call;
}

// One object, or an array of them; empty if it is anything else.
std::vector<ToolCall> calls_of(std::string_view text) {
  std::vector<ToolCall> calls;
  text = trimmed(text);
  if (text.empty()) return calls;
  const bool array = text.front() == '[';
  const std::string wrapped =
      "{\"calls\":" + (array ? "" : std::string("[")) + std::string(text) + (array ? "}" : "]}");
  const ApiResult<json::object> body = parse_body(wrapped);
  const json::array* list = body ? body->at("calls").if_array() : nullptr;
  if (list == nullptr || body->size() != 1) return calls;
  for (const json::value& v : *list) {
    std::optional<ToolCall> call = v.is_object() ? call_of(v.get_object()) : std::nullopt;
    if (!call) return {};
    calls.push_back(std::move(*call));
  }
  return calls;
}

// How many bytes at the end of `text` could begin `mark`.
size_t partial_match(std::string_view text, std::string_view mark) {
  for (size_t n = std::min(text.size(), mark.size() - 1); n > 0; --n) {
    if (text.ends_with(mark.substr(0, n))) return n;
  }
  return 0;
}

}  // namespace

std::string_view tool_marker(ToolFormat format) {
  switch (format) {
    case ToolFormat::kHermes:
      return kOpen;
    case ToolFormat::kMistral:
      return kMistral;
    case ToolFormat::kLlama3:
      return kPython;
    case ToolFormat::kNone:
      break;
  }
  return {};
}

ToolCallParser::Output ToolCallParser::push(std::string_view text) {
  Output out;
  pending_ += text;
  scan(out, false);
  return out;
}

ToolCallParser::Output ToolCallParser::marker() {
  Output out;
  if (inside_) return out;
  out.text = std::move(pending_);
  pending_.clear();
  inside_ = true;
  return out;
}

ToolCallParser::Output ToolCallParser::finish() {
  Output out;
  scan(out, true);
  return out;
}

void ToolCallParser::scan(Output& out, bool last) {
  if (format_ == ToolFormat::kNone) {
    out.text = std::move(pending_);
    pending_.clear();
  } else if (format_ == ToolFormat::kHermes) {
    scan_hermes(out, last);
  } else {
    scan_json(out, last);
  }
}

void ToolCallParser::scan_hermes(Output& out, bool last) {
  for (;;) {
    if (!inside_ && !open_hermes(out, last)) return;
    const size_t close = pending_.find(kClose);
    if (close == std::string::npos && !last) return;
    const std::vector<ToolCall> calls = calls_of(std::string_view(pending_).substr(0, close));
    const size_t end = close == std::string::npos ? pending_.size() : close + kClose.size();
    if (calls.empty()) out.text.append(space_).append(kOpen).append(pending_, 0, end);
    found_ = found_ || !calls.empty();
    blank_ = !calls.empty();
    out.calls.insert(out.calls.end(), calls.begin(), calls.end());
    pending_.erase(0, end);
    space_.clear();
    inside_ = false;
    if (pending_.empty()) return;
  }
}

// White space before and between calls belongs to none of them, so it is held until it is known what follows.
bool ToolCallParser::open_hermes(Output& out, bool last) {
  const size_t open = pending_.find(kOpen);
  inside_ = open != std::string::npos;
  const size_t text = inside_ ? open : pending_.size() - (last ? 0 : partial_match(pending_, kOpen));
  blank_ = blank_ && pending_.find_first_not_of(kSpace) >= text;
  if (blank_ && !inside_ && !last) return false;
  if (blank_ && inside_) {
    space_ = pending_.substr(0, text);
  } else if (!blank_ || !found_) {
    out.text.append(pending_, 0, text);
  }
  pending_.erase(0, text + (inside_ ? kOpen.size() : 0));
  return inside_;
}

// Calls reach to the end of the answer, so nothing is known before it.
void ToolCallParser::scan_json(Output& out, bool last) {
  const std::string_view mark = tool_marker(format_);
  if (!inside_) {
    const size_t open = pending_.find(mark);
    const std::string_view begun = trimmed(pending_);
    if (open != std::string::npos) {
      out.text.append(pending_, 0, open);
      pending_.erase(0, open + mark.size());
      inside_ = true;
    } else if (at_start_ && format_ == ToolFormat::kLlama3 && (begun.empty() || begun.front() == '{')) {
      if (!last) return;  // the whole answer may be a call
      inside_ = !begun.empty();
    }
    if (!inside_) {
      const size_t text = pending_.size() - (last ? 0 : partial_match(pending_, mark));
      at_start_ = at_start_ && begun.empty();
      out.text.append(pending_, 0, text);
      pending_.erase(0, text);
      return;
    }
  }
  if (!last) return;
  out.calls = calls_of(pending_);
  found_ = !out.calls.empty();
  if (out.calls.empty()) out.text += pending_;
  pending_.clear();
}

}  // namespace toccata::server
