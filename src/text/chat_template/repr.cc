// str(), repr() and markupsafe's escape.
#include "base/utf8.h"
#include "text/chat_template/activation.h"
#include "text/chat_template/fault.h"
#include "text/chat_template/loop.h"
#include "text/chat_template/ops.h"
#include "text/chat_template/unicode.h"

namespace toccata::jinja {
namespace {

void append_hex(std::string& out, uint32_t c, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += "0123456789abcdef"[(c >> shift) & 15];
}

void append_escaped(std::string& out, uint32_t c, char quote) {
  if (c == static_cast<uint32_t>(quote) || c == '\\') {
    out += '\\';
    out += static_cast<char>(c);
  } else if (c == '\t') {
    out += "\\t";
  } else if (c == '\n') {
    out += "\\n";
  } else if (c == '\r') {
    out += "\\r";
  } else if ((c >= 0x20 && c < 0x7F) || (c > 0x7F && is_printable(c))) {
    utf8::append(out, c);
  } else if (c < 0x100) {
    out += "\\x";
    append_hex(out, c, 2);
  } else if (c < 0x10000) {
    out += "\\u";
    append_hex(out, c, 4);
  } else {
    out += "\\U";
    append_hex(out, c, 8);
  }
}

class Representation {
 public:
  explicit Representation(Heap& heap) : heap_(heap) {}

  void append(const Value& value) {
    heap_.check_stack();
    heap_.step();
    heap_.reserve(out_.size());
    switch (value.kind()) {
      case Kind::kNone:
        out_ += "None";
        break;
      case Kind::kBool:
        out_ += value.boolean() ? "True" : "False";
        break;
      case Kind::kInt:
        out_ += int_text(value.integer());
        break;
      case Kind::kFloat:
        out_ += float_text(value.floating());
        break;
      case Kind::kString:
        out_ += value.str().markup() ? "Markup(" + repr_string(value.text()) + ")" : repr_string(value.text());
        break;
      case Kind::kUndefined:
        out_ += "Undefined";
        break;
      case Kind::kList:
        append_items(value.as<List>()->items, '[', ']');
        break;
      case Kind::kTuple:
        append_tuple(value.as<Tuple>()->items);
        break;
      case Kind::kDict:
        append_dict(*value.as<Dict>());
        break;
      case Kind::kRange:
        append_range(*value.as<Range>());
        break;
      case Kind::kView:
        append_view(*value.as<View>());
        break;
      default:
        append_object(value);
        break;
    }
  }

  std::string take() { return std::move(out_); }

 private:
  void append_list(const std::vector<Value>& items) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += ", ";
      append(items[i]);
    }
  }

  void append_items(const std::vector<Value>& items, char open, char close) {
    out_ += open;
    append_list(items);
    out_ += close;
  }

  void append_tuple(const std::vector<Value>& items) {
    out_ += '(';
    append_list(items);
    out_ += items.size() == 1 ? ",)" : ")";
  }

  void append_dict(const Dict& dict) {
    out_ += '{';
    bool first = true;
    for (const auto& [key, value] : dict.entries) {
      if (!first) out_ += ", ";
      first = false;
      append(key);
      out_ += ": ";
      append(value);
    }
    out_ += '}';
  }

  void append_range(const Range& range) {
    out_ += "range(" + int_text(range.start) + ", " + int_text(range.stop);
    if (range.step != 1) out_ += ", " + int_text(range.step);
    out_ += ')';
  }

  void append_view(const View& view) {
    out_ += std::string(type_name(const_cast<View*>(&view))) + "([";
    bool first = true;
    for (const auto& [key, value] : view.dict->entries) {
      if (!first) out_ += ", ";
      first = false;
      if (view.part == View::Part::kItems) {
        append_tuple({key, value});
      } else {
        append(view.part == View::Part::kKeys ? key : value);
      }
    }
    out_ += "])";
  }

  void append_object(const Value& value) {
    if (const auto* names = value.as<Namespace>()) {
      out_ += "<Namespace ";
      append_dict(*names->attributes);
      out_ += '>';
    } else if (const auto* macro = value.as<Macro>()) {
      out_ += macro->name.is_none() ? "<Macro anonymous>" : "<Macro " + repr_string(macro->name.text()) + ">";
    } else if (auto* loop = value.as<Loop>()) {
      out_ += "<LoopContext " + std::to_string(loop->index0 + 1) + "/" + std::to_string(loop->length(heap_)) + ">";
    } else {
      refuse("the text of a " + std::string(type_name(value)) + " object (it shows a memory address in Python)");
    }
  }

  Heap& heap_;
  std::string out_;
};

}  // namespace

std::string repr_string(std::string_view text) {
  const bool double_quotes = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = double_quotes ? '"' : '\'';
  std::string out(1, quote);
  for (size_t pos = 0; pos < text.size();) append_escaped(out, next_code_point(text, pos), quote);
  return out + quote;
}

std::string repr(Heap& heap, const Value& value) {
  Representation out(heap);
  out.append(value);
  return out.take();
}

Str to_str(Heap& heap, const Value& value) {
  if (value.is_string()) return value.str().markup() ? heap.str(value.text()).str() : value.str();
  if (value.is(Kind::kUndefined)) return heap.str("").str();
  return heap.str(repr(heap, value)).str();
}

std::string escape_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '"':
        out += "&#34;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

Value escape(Heap& heap, const Value& value) {
  if (value.is_string() && value.str().markup()) return value;
  const Str text = to_str(heap, value);
  heap.reserve(text.text().size() * 5);
  return heap.str(escape_text(text.text()), true);
}

}  // namespace toccata::jinja
