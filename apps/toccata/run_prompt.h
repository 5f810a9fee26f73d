// From what the user gave to token ids.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loaded_model.h"

namespace toccata::cli {

struct Message {
  std::string role;
  std::string content;
};

class PromptMaker {
 public:
  // raw: prompts are continued as they are. Else the model's chat template is needed; has_template() says whether
  // there is one. Errors: kInvalidFile or kUnsupported, what is wrong with the template.
  static Result<PromptMaker> create(const LoadedModel& model, bool raw);
  PromptMaker(PromptMaker&&) noexcept;
  ~PromptMaker();

  bool has_template() const { return template_ != nullptr; }
  // Special tokens are recognised in the text; BOS is added as the model asks.
  std::vector<TokenId> continue_text(const std::string& text) const;
  // The conversation, rendered so that the assistant speaks next. Needs has_template().
  Result<std::vector<TokenId>> answer(const std::vector<Message>& messages) const;

 private:
  struct Template;
  PromptMaker(const LoadedModel& model, std::unique_ptr<Template> chat);
  const LoadedModel* model_;
  std::unique_ptr<Template> template_;
};

}  // namespace toccata::cli
