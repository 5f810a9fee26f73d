// Chat templates: the subset of Jinja2 that models' templates use, rendered as Python's jinja2 renders it in the
// environment that Hugging Face transformers sets up (a sandbox with trim_blocks, lstrip_blocks, break and continue,
// {% generation %}, raise_exception, strftime_now and transformers' own tojson).
//
// A template either renders to exactly the text that jinja2 gives, or is refused with an error.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

#include "toccata/result.h"

namespace toccata {

class ChatTemplate {
 public:
  // The time that strftime_now shows, in the local zone.
  struct LocalTime {
    std::tm tm{};
    int microsecond = 0;
  };
  using Clock = std::function<LocalTime()>;

  // Error kUnsupported names the feature that is not offered; kInvalidArgument is a syntax error with its line.
  static Result<ChatTemplate> parse(std::string_view source);
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // context: the template's variables (messages, tools, add_generation_prompt, bos_token, eos_token, ...).
  // Errors: kInvalidArgument for what jinja2 raises, with the line (raise_exception: the template's own message alone);
  // kUnsupported names a feature that is not offered; kResourceExhausted when a limit is hit: work (about a second),
  // output (64 MiB), memory (256 MiB) and depth are bounded, so an untrusted template ends.
  // Safe to call from several threads at once.
  Result<std::string> render(const boost::json::object& context) const;
  // The same with a clock other than the system's.
  Result<std::string> render(const boost::json::object& context, const Clock& clock) const;

  const std::string& source() const;

 private:
  struct Impl;
  explicit ChatTemplate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace toccata
