#include "run_prompt.h"

#include <string_view>

#include <boost/json.hpp>

#include "json_reader.h"
#include "text/chat_template/chat.h"
#include "text/tokenizer/utf8_runs.h"

namespace toccata::cli {
namespace json = boost::json;

struct PromptMaker::Template {
  ChatTemplate chat;
  std::optional<std::string> bos, eos;
};

namespace {

std::optional<std::string> token_name(const Tokenizer& tokenizer, TokenId id) {
  if (id < 0) return std::nullopt;
  return std::string(tokenizer.token_text(id));
}

}  // namespace

PromptMaker::PromptMaker(const LoadedModel& model, std::unique_ptr<Template> chat)
    : model_(&model), template_(std::move(chat)) {}
PromptMaker::PromptMaker(PromptMaker&&) noexcept = default;
PromptMaker::~PromptMaker() = default;

Result<PromptMaker> PromptMaker::create(const LoadedModel& model, bool raw) {
  if (raw) return PromptMaker(model, nullptr);
  const Result<std::optional<std::string_view>> source = model.file->get_string("tokenizer.chat_template");
  if (!source) return tl::unexpected(source.error());
  if (!*source) return PromptMaker(model, nullptr);
  Result<ChatTemplate> chat = ChatTemplate::parse(**source);
  if (!chat) {
    return fail(chat.error().code,
                "the model's chat template cannot be used (--raw works without it): " + chat.error().message);
  }
  const Tokenizer& t = *model.tokenizer;
  return PromptMaker(
      model, std::make_unique<Template>(Template{std::move(*chat), token_name(t, t.bos()), token_name(t, t.eos())}));
}

std::vector<TokenId> PromptMaker::continue_text(const std::string& text) const {
  return model_->tokenizer->encode(text, {.parse_special = true, .add_special = true});
}

Result<std::vector<TokenId>> PromptMaker::answer(const std::vector<Message>& messages) const {
  json::array list;
  for (const Message& m : messages) {
    list.push_back(json::object{{"role", to_valid_utf8(m.role)}, {"content", to_valid_utf8(m.content)}});
  }
  ChatInput input;
  input.messages = &list;
  input.bos_token = template_->bos;
  input.eos_token = template_->eos;
  input.add_generation_prompt = true;
  const Result<std::string> text = render_chat(template_->chat, input);
  if (!text) return fail(text.error().code, "the model's chat template: " + text.error().message);
  // The template writes its own BOS, as in transformers.
  return model_->tokenizer->encode(*text, {.parse_special = true, .add_special = false});
}

}  // namespace toccata::cli
