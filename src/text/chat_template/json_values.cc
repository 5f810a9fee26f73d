#include "text/chat_template/json_values.h"

#include <algorithm>
#include <cmath>

#include <boost/json/value.hpp>

#include "base/utf8.h"
#include "text/chat_template/fault.h"
#include "text/chat_template/interpreter.h"
#include "text/chat_template/limits.h"
#include "text/chat_template/ops.h"
#include "text/chat_template/text_ops.h"
#include "text/chat_template/unicode.h"

namespace toccata::jinja {
namespace {

Value json_string(Heap& heap, std::string_view text) {
  if (!utf8::is_valid(text)) raise("a string of the conversation is not valid UTF-8");
  return heap.str(std::string(text));
}

Value convert(Heap& heap, const boost::json::value& json, int depth) {
  if (depth > kMaxDataDepth) {
    raise("the conversation is nested deeper than " + std::to_string(kMaxDataDepth) + " levels");
  }
  switch (json.kind()) {
    case boost::json::kind::null:
      return None{};
    case boost::json::kind::bool_:
      return Value(json.get_bool());
    case boost::json::kind::int64:
      return Value(Int{json.get_int64()});
    case boost::json::kind::uint64:
      return Value(Int{json.get_uint64()});
    case boost::json::kind::double_:
      return Value(json.get_double());
    case boost::json::kind::string:
      return json_string(heap, json.get_string());
    case boost::json::kind::array: {
      std::vector<Value> items;
      for (const auto& item : json.get_array()) items.push_back(convert(heap, item, depth + 1));
      return heap.list(std::move(items));
    }
    case boost::json::kind::object: {
      Dict* dict = heap.dict();
      for (const auto& [key, value] : json.get_object()) {
        dict->set(heap, json_string(heap, key), convert(heap, value, depth + 1));
      }
      return dict;
    }
  }
  return None{};
}

class Dumper {
 public:
  Dumper(Heap& heap, bool ascii, bool sort_keys, const std::string* indent, std::string item_separator,
         std::string key_separator)
      : heap_(heap),
        ascii_(ascii),
        sort_keys_(sort_keys),
        indent_(indent),
        item_separator_(std::move(item_separator)),
        key_separator_(std::move(key_separator)) {}

  std::string dump(const Value& value) {
    write(value);
    return std::move(out_);
  }

 private:
  void write(const Value& value) {
    heap_.check_stack();
    heap_.step();
    switch (value.kind()) {
      case Kind::kNone:
        append("null");
        break;
      case Kind::kBool:
        append(value.boolean() ? "true" : "false");
        break;
      case Kind::kInt:
        append(int_text(value.integer()));
        break;
      case Kind::kFloat:
        append(float_json(value.floating()));
        break;
      case Kind::kString:
        write_string(value.text());
        break;
      case Kind::kList:
        write_array(value.as<List>()->items);
        break;
      case Kind::kTuple:
        write_array(value.as<Tuple>()->items);
        break;
      case Kind::kDict:
        write_object(*value.as<Dict>());
        break;
      default:
        raise("Object of type " + std::string(type_name(value)) + " is not JSON serializable");
    }
  }

  void append(std::string_view text) {
    if (out_.size() + text.size() > out_.capacity()) heap_.reserve(2 * out_.size() + text.size());
    out_ += text;
  }

  static std::string float_json(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return float_text(value);
  }

  void append_unicode_escape(uint32_t unit) {
    std::string text = "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) text += "0123456789abcdef"[(unit >> shift) & 15];
    append(text);
  }

  void write_string(std::string_view text) {
    append("\"");
    for (size_t pos = 0; pos < text.size();) {
      const size_t begin = pos;
      const uint32_t c = next_code_point(text, pos);
      constexpr std::string_view kPlain = "\"\\\n\r\t\f\b";
      constexpr std::string_view kNames = "\"\\nrtfb";
      const size_t simple = c < 0x80 ? kPlain.find(static_cast<char>(c)) : std::string_view::npos;
      if (simple != std::string_view::npos) {
        append(std::string{'\\', kNames[simple]});
      } else if (c < 0x20 || (ascii_ && c > 0x7E && c < 0x10000)) {
        append_unicode_escape(c);
      } else if (ascii_ && c >= 0x10000) {
        append_unicode_escape(0xD800 + ((c - 0x10000) >> 10));
        append_unicode_escape(0xDC00 + ((c - 0x10000) & 0x3FF));
      } else {
        append(text.substr(begin, pos - begin));
      }
    }
    append("\"");
  }

  void new_line() {
    if (indent_ == nullptr) return;
    bounded_size(heap_, level_, indent_->size());
    append("\n");
    append(repeat_text(*indent_, static_cast<size_t>(level_)));
  }

  void write_array(const std::vector<Value>& items) {
    if (items.empty()) {
      append("[]");
      return;
    }
    append("[");
    ++level_;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) append(item_separator_);
      new_line();
      write(items[i]);
    }
    --level_;
    new_line();
    append("]");
  }

  void write_key(const Value& key) {
    switch (key.kind()) {
      case Kind::kString:
        write_string(key.text());
        break;
      case Kind::kNone:
        append("\"null\"");
        break;
      case Kind::kBool:
        append(key.boolean() ? "\"true\"" : "\"false\"");
        break;
      case Kind::kInt:
        append(cat({"\"", int_text(key.integer()), "\""}));
        break;
      case Kind::kFloat:
        append(cat({"\"", float_json(key.floating()), "\""}));
        break;
      default:
        raise("keys must be str, int, float, bool or None, not " + std::string(type_name(key)));
    }
  }

  void write_object(const Dict& dict) {
    if (dict.entries.empty()) {
      append("{}");
      return;
    }
    std::vector<const std::pair<Value, Value>*> entries;
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (sort_keys_) {
      std::stable_sort(entries.begin(), entries.end(),
                       [&](const auto* a, const auto* b) { return less(heap_, a->first, b->first); });
    }
    append("{");
    ++level_;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) append(item_separator_);
      new_line();
      write_key(entries[i]->first);
      append(key_separator_);
      write(entries[i]->second);
    }
    --level_;
    new_line();
    append("}");
  }

  Heap& heap_;
  const bool ascii_;
  const bool sort_keys_;
  const std::string* const indent_;  // one level of it, null for one line
  const std::string item_separator_, key_separator_;
  Int level_ = 0;
  std::string out_;
};

}  // namespace

Value from_json(Heap& heap, const boost::json::value& json) { return convert(heap, json, 0); }

Value filter_tojson(Interpreter& in, const Value& value, Args& args) {
  Heap& heap = in.heap();
  const auto a = bind<4>("tojson", args, {"ensure_ascii", "indent", "separators", "sort_keys"});
  std::string indent;
  const bool lines = !a[1].is_missing() && !a[1].is_none();
  if (lines && a[1].is_string()) {
    indent = a[1].text();
  } else if (lines) {
    indent = std::string(bounded_size(heap, as_index(a[1]), 1), ' ');
  }
  std::string item_separator = lines ? "," : ", ";
  std::string key_separator = ": ";
  if (!a[2].is_missing() && !a[2].is_none()) {
    const auto separators = to_vector(heap, a[2]);
    if (separators.size() != 2) raise("tojson() needs two separators");
    item_separator = text_of(separators[0], "a separator");
    key_separator = text_of(separators[1], "a separator");
  }
  Dumper dumper(heap, flag_or(heap, a[0], false), flag_or(heap, a[3], false), lines ? &indent : nullptr, item_separator,
                key_separator);
  return heap.str(dumper.dump(value));
}

}  // namespace toccata::jinja
