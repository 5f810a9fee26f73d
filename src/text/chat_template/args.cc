// Binding of arguments, and the small conversions that all builtins share.
#include <algorithm>

#include "text/chat_template/builtins.h"
#include "text/chat_template/fault.h"
#include "text/chat_template/ops.h"
#include "text/chat_template/unicode.h"

namespace toccata::jinja {

void bind_args(std::string_view function, Args& args, const std::string_view* names, size_t count, size_t required,
               size_t positional_only, Value* out) {
  const std::string call = std::string(function) + "()";
  if (args.positional.size() > count) {
    raise(call + " takes at most " + std::to_string(count) + " arguments (" + std::to_string(args.positional.size()) +
          " given)");
  }
  std::move(args.positional.begin(), args.positional.end(), out);
  for (auto& [key, value] : args.keyword) {
    const auto* at = std::find(names + positional_only, names + count, key);
    if (at == names + count) raise(call + " got an unexpected keyword argument '" + key + "'");
    Value& target = out[at - names];
    if (!target.is_missing()) raise(call + " got multiple values for argument '" + key + "'");
    target = std::move(value);
  }
  for (size_t i = 0; i < required; ++i) {
    if (out[i].is_missing()) raise(call + " missing required argument: '" + std::string(names[i]) + "'");
  }
}

void expect_no_args(std::string_view function, const Args& args) {
  if (!args.positional.empty() || !args.keyword.empty()) raise(std::string(function) + "() takes no arguments");
}

bool flag_or(Heap& heap, const Value& given, bool fallback) {
  return given.is_missing() ? fallback : truthy(heap, given);
}

Int int_or(const Value& given, Int fallback) { return given.is_missing() ? fallback : as_index(given); }

const std::string& text_of(const Value& value, std::string_view what) {
  if (!value.is_string()) raise(std::string(what) + " must be str, not " + std::string(type_name(value)));
  return value.text();
}

Value ignore_case(Heap& heap, const Value& value) {
  return value.is_string() ? heap.str(to_lower(value.text()), value.str().markup()) : value;
}

Value soft_str(Heap& heap, const Value& value) { return value.is_string() ? value : Value(to_str(heap, value)); }

Value follow_path(Heap& heap, Value item, const Value& path, const Value& fallback) {
  const auto follow = [&](const Value& key) {
    item = get_item(heap, item, key);
    if (!fallback.is_missing() && !fallback.is_none() && item.is(Kind::kUndefined)) item = fallback;
  };
  if (path.is_none()) return item;
  if (!path.is_string()) {
    follow(path);
    return item;
  }
  const std::string& text = path.text();
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('.', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const bool number =
        !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    follow(number ? Value(*parse_int(part, 10)) : heap.str(part));
    begin = end + 1;
  }
  return item;
}

}  // namespace toccata::jinja
