// The exception of the template interpreter. It plays the part of Python's exceptions inside the interpreter and
// never leaves it: ChatTemplate::parse and ChatTemplate::render turn it into an Error.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "toccata/result.h"

namespace toccata::jinja {

// The parts as one text.
inline std::string cat(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (std::string_view part : parts) out += part;
  return out;
}

struct Fault {
  ErrorCode code;
  std::string message;
  int line = 0;           // line of the template, 0 while unknown; filled in by the innermost statement or tag
  bool verbatim = false;  // the template's own words (raise_exception): shown without the line
};

// What Python or jinja2 would raise as well: TypeError, UndefinedError, TemplateSyntaxError, ...
[[noreturn]] inline void raise(std::string message) {
  throw Fault{ErrorCode::kInvalidArgument, std::move(message), 0, false};
}

// What jinja2 can do and this interpreter cannot; names the feature.
[[noreturn]] inline void refuse(const std::string& feature) {
  throw Fault{ErrorCode::kUnsupported, "chat templates do not support " + feature, 0, false};
}

// A bound on work or memory was hit.
[[noreturn]] inline void exhausted(const std::string& what) {
  throw Fault{ErrorCode::kResourceExhausted, "the chat template " + what, 0, false};
}

}  // namespace toccata::jinja
