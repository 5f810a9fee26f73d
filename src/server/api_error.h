// Errors as the API shows them: OpenAI's shape, an HTTP status, and the parameter that is wrong.
#pragma once

#include <cstdint>
#include <string>

#include <tl/expected.hpp>

#include "server/http/message.h"

namespace toccata::server {

struct ApiError {
  int status = 400;
  std::string message;  // one sentence
  std::string type = "invalid_request_error";
  std::string param;                         // empty: null
  std::string code;                          // empty: null
  int retry_after = 0;                       // seconds; 0: no such header
  int64_t n_prompt_tokens = -1, n_ctx = -1;  // of context_length_exceeded
};

template <class T>
using ApiResult = tl::expected<T, ApiError>;
using ApiStatus = tl::expected<void, ApiError>;

// A parameter that is wrong: 400, code invalid_value.
ApiError bad_param(std::string param, std::string message);
// A known parameter that is not offered: 400, code unsupported_parameter.
ApiError unsupported_param(std::string param, std::string message);
ApiError context_length_error(int64_t prompt_tokens, int64_t context);
ApiError queue_full_error(std::string message);
ApiError unavailable_error(std::string message, std::string code);
ApiError internal_error(std::string message);

std::string error_json(const ApiError& error);  // {"error": {...}}
HttpResponse error_response(const ApiError& error);

}  // namespace toccata::server
