// Chat templates: the subset of Jinja2 that models' templates use, rendered as Python's jinja2 renders it with
// trim_blocks and lstrip_blocks, as Hugging Face transformers does.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

#include "base/result.h"

namespace toccata {

class ChatTemplate {
 public:
  // Error kUnsupported names the feature that is not offered; kInvalidArgument is a syntax error with its line.
  static Result<ChatTemplate> parse(std::string_view source);
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // context: the template's variables (messages, tools, add_generation_prompt, bos_token, eos_token, ...).
  // raise_exception() in the template gives kInvalidArgument with its message. Bounded: loops, recursion depth and
  // output size have limits, so an untrusted template ends.
  Result<std::string> render(const boost::json::object& context) const;

 private:
  struct Impl;
  explicit ChatTemplate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace toccata
