// Conversations to token ids with the model's chat template. Text that clients send is text: a control token's name
// inside a message is read as ordinary characters, so no message can close its turn or forge another.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "text/tokenizer/tokenizer.h"
#include "toccata/result.h"

namespace toccata::server {

// How a model's answers show tool calls; told by its template.
enum class ToolFormat { kNone, kHermes, kMistral, kLlama3 };

class ChatPrompts {
 public:
  // Error: what is wrong with the template. tokenizer must outlive the object.
  static Result<ChatPrompts> create(const Tokenizer& tokenizer, const std::string& source);
  ChatPrompts(ChatPrompts&&) noexcept;
  ~ChatPrompts();

  struct Options {
    bool add_generation_prompt = true;
    bool continue_final_message = false;
    const boost::json::object* variables = nullptr;
  };
  // messages: objects with content as text. tools may be null. Safe from several threads.
  // Errors: the template's own sentence, or what it lacks.
  Result<std::vector<TokenId>> encode(const boost::json::array& messages, const boost::json::array* tools,
                                      const Options& options) const;
  ToolFormat tool_format() const;
  bool mentions(std::string_view word) const;  // whether the template's source has it

 private:
  struct Impl;
  explicit ChatPrompts(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace toccata::server
