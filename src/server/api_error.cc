#include "server/api_error.h"

#include <boost/json.hpp>

#include "text/tokenizer/utf8_runs.h"

namespace toccata::server {
namespace json = boost::json;

namespace {

json::value or_null(const std::string& text) { return text.empty() ? json::value(nullptr) : json::value(text); }

}  // namespace

ApiError bad_param(std::string param, std::string message) {
  ApiError e;
  e.message = std::move(message);
  e.param = std::move(param);
  e.code = "invalid_value";
  return e;
}

ApiError unsupported_param(std::string param, std::string message) {
  ApiError e = bad_param(std::move(param), std::move(message));
  e.code = "unsupported_parameter";
  return e;
}

ApiError context_length_error(int64_t prompt_tokens, int64_t context) {
  ApiError e;
  e.message = "the prompt has " + std::to_string(prompt_tokens) + " tokens, but the context of " +
              std::to_string(context) + " has room for at most " + std::to_string(context - 1) + " and one of answer";
  e.code = "context_length_exceeded";
  e.n_prompt_tokens = prompt_tokens;
  e.n_ctx = context;
  return e;
}

ApiError queue_full_error(std::string message) {
  ApiError e;
  e.status = 429;
  e.type = "rate_limit_error";
  e.code = "queue_full";
  e.message = std::move(message);
  e.retry_after = 1;
  return e;
}

ApiError unavailable_error(std::string message, std::string code) {
  ApiError e;
  e.status = 503;
  e.type = "service_unavailable_error";
  e.code = std::move(code);
  e.message = std::move(message);
  e.retry_after = 2;
  return e;
}

ApiError internal_error(std::string message) {
  ApiError e;
  e.status = 500;
  e.type = "server_error";
  e.code = "internal_error";
  e.message = std::move(message);
  return e;
}

std::string error_json(const ApiError& error) {
  json::object inner;
  inner["message"] = to_valid_utf8(error.message);
  inner["type"] = error.type;
  inner["param"] = or_null(to_valid_utf8(error.param));
  inner["code"] = or_null(error.code);
  if (error.n_ctx >= 0) {
    inner["n_prompt_tokens"] = error.n_prompt_tokens;
    inner["n_ctx"] = error.n_ctx;
  }
  return json::serialize(json::object{{"error", std::move(inner)}});
}

HttpResponse error_response(const ApiError& error) {
  HttpResponse response;
  response.status = error.status;
  response.body = error_json(error);
  if (error.retry_after > 0) response.headers.emplace_back("Retry-After", std::to_string(error.retry_after));
  return response;
}

}  // namespace toccata::server
