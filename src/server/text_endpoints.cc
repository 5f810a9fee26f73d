// /tokenize and /detokenize.
#include <boost/json.hpp>

#include "server/openai/common_fields.h"
#include "server/service.h"
#include "text/tokenizer/utf8_runs.h"

namespace toccata::server {
namespace json = boost::json;

namespace {

ApiResult<std::vector<TokenId>> tokens_of(const json::object& body, const TextSide& text) {
  JsonFields fields(body);
  if (const ApiResult<std::string> model = served_model(fields, text); !model) return tl::unexpected(model.error());
  if (fields.find("messages") != nullptr) return chat_tokens(body, text);
  const bool special = fields.boolean("add_special_tokens").value_or(true);
  std::optional<std::string> prompt = fields.text("prompt");
  if (!prompt && fields.ok()) prompt = fields.text("content");
  if (fields.ok() && !prompt) fields.fault(bad_param("prompt", "prompt is missing: give prompt, content or messages"));
  if (!fields.ok()) return tl::unexpected(fields.error());
  return text.tokenizer->encode(*prompt, {.parse_special = true, .add_special = special});
}

}  // namespace

ApiResult<std::string> tokenize_body(const json::object& body, const TextSide& text, const ApiLimits& limits) {
  JsonFields fields(body);
  const bool strings = fields.boolean("return_token_strs").value_or(false);
  if (!fields.ok()) return tl::unexpected(fields.error());
  const ApiResult<std::vector<TokenId>> ids = tokens_of(body, text);
  if (!ids) return tl::unexpected(ids.error());
  json::array tokens, texts;
  for (const TokenId id : *ids) {
    tokens.push_back(id);
    if (strings) texts.push_back(json::value(to_valid_utf8(text.tokenizer->token_bytes(id))));
  }
  json::object o{{"count", tokens.size()}, {"max_model_len", limits.context}, {"tokens", std::move(tokens)}};
  o["token_strs"] = strings ? json::value(std::move(texts)) : json::value(nullptr);
  return json::serialize(o);
}

ApiResult<std::string> detokenize_body(const json::object& body, const TextSide& text, const ApiLimits& limits) {
  JsonFields fields(body);
  if (const ApiResult<std::string> model = served_model(fields, text); !model) return tl::unexpected(model.error());
  const json::array* tokens = fields.array("tokens");
  if (fields.ok() && tokens == nullptr) fields.fault(bad_param("tokens", "tokens is missing"));
  if (!fields.ok()) return tl::unexpected(fields.error());
  const ApiResult<std::vector<int32_t>> ids = token_array(*tokens, "tokens", limits.vocab);
  if (!ids) return tl::unexpected(ids.error());
  return json::serialize(json::object{{"prompt", to_valid_utf8(text.tokenizer->decode(*ids))}});
}

}  // namespace toccata::server
