#include <algorithm>

#include <boost/json.hpp>

#include "server/openai/common_fields.h"
#include "text/tokenizer/utf8_runs.h"

namespace toccata::server {
namespace json = boost::json;

namespace {

constexpr int64_t kDefaultMaxTokens = 16;  // as OpenAI's endpoint

struct Prompts {
  std::vector<std::vector<int32_t>> ids;
  std::vector<std::string> texts;  // for echo
};

const char* const kPromptForms = "a string, an array of strings, an array of token ids, or an array of such arrays";

ApiStatus add_text(const json::string& s, const TextSide& text, Prompts& prompts) {
  const std::string_view raw(s.data(), s.size());
  prompts.ids.push_back(text.tokenizer->encode(raw, {.parse_special = true, .add_special = true}));
  prompts.texts.push_back(to_valid_utf8(raw));
  return {};
}

ApiStatus add_tokens(const json::array& array, const TextSide& text, const ApiLimits& limits, Prompts& prompts) {
  ApiResult<std::vector<int32_t>> ids = token_array(array, "prompt", limits.vocab);
  if (!ids) return tl::unexpected(ids.error());
  prompts.texts.push_back(to_valid_utf8(text.tokenizer->decode(*ids)));
  prompts.ids.push_back(std::move(*ids));
  return {};
}

ApiStatus add_each(const json::array& list, const TextSide& text, const ApiLimits& limits, Prompts& prompts) {
  if (list.size() > static_cast<size_t>(limits.max_prompts)) {
    return tl::unexpected(
        bad_param("prompt", "prompt may hold at most " + std::to_string(limits.max_prompts) + " prompts"));
  }
  for (const json::value& v : list) {
    ApiStatus added = tl::unexpected(bad_param("prompt", std::string("prompt must be ") + kPromptForms));
    if (const json::string* s = v.if_string()) added = add_text(*s, text, prompts);
    if (const json::array* a = v.if_array()) added = add_tokens(*a, text, limits, prompts);
    if (!added) return added;
  }
  return {};
}

ApiResult<Prompts> read_prompts(const JsonFields& fields, const TextSide& text, const ApiLimits& limits) {
  Prompts prompts;
  const json::value* v = fields.find("prompt");
  if (v == nullptr) return tl::unexpected(bad_param("prompt", "prompt is missing"));
  ApiStatus added = tl::unexpected(bad_param("prompt", std::string("prompt must be ") + kPromptForms));
  if (const json::string* s = v->if_string()) added = add_text(*s, text, prompts);
  if (const json::array* a = v->if_array(); a != nullptr && !a->empty()) {
    added = a->front().is_number() ? add_tokens(*a, text, limits, prompts) : add_each(*a, text, limits, prompts);
  }
  if (!added) return tl::unexpected(added.error());
  return prompts;
}

}  // namespace

ApiResult<ApiRequest> parse_completion(const json::object& body, const TextSide& text, const ApiLimits& limits) {
  ApiRequest request;
  Request shared;
  JsonFields fields(body);
  read_common(fields, text, limits, request, shared);
  if (const json::value* suffix = fields.find("suffix");
      suffix != nullptr && !(suffix->is_string() && suffix->get_string().empty())) {
    fields.fault(
        unsupported_param("suffix", "suffix is not supported: the model continues text, it does not fill gaps"));
  }
  request.echo = fields.boolean("echo").value_or(false);
  request.logprobs = static_cast<int32_t>(fields.integer("logprobs", 0, 20).value_or(-1));
  if (request.logprobs > limits.vocab) request.logprobs = limits.vocab;
  shared.sampling.logprobs = request.logprobs;
  if (request.echo && request.logprobs >= 0) shared.prompt_logprobs = request.logprobs;
  if (shared.max_tokens < 0) shared.max_tokens = kDefaultMaxTokens;
  if (!fields.ok()) return tl::unexpected(fields.error());

  ApiResult<Prompts> prompts = read_prompts(fields, text, limits);
  if (!prompts) return tl::unexpected(prompts.error());
  for (std::vector<int32_t>& ids : prompts->ids) {
    if (ids.empty()) return tl::unexpected(bad_param("prompt", "prompt is empty: the model needs at least one token"));
    Request one = shared;
    one.prompt = std::move(ids);
    request.prompts.push_back(std::move(one));
  }
  if (request.echo) request.echo_texts = std::move(prompts->texts);
  if (request.choices() > limits.max_choices) {
    return tl::unexpected(
        bad_param("n", "n times the number of prompts may be at most " + std::to_string(limits.max_choices)));
  }
  return request;
}

}  // namespace toccata::server
