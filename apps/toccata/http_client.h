// A small blocking HTTP client for benchmarks: one request, and the lines of its answer as they arrive.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "toccata/result.h"

namespace toccata::cli {

struct Url {
  std::string host, port, path;  // path without a slash at its end
};

// "http://host:port/path"; the scheme may be left out. Error: kInvalidArgument (https is not offered).
Result<Url> parse_url(const std::string& text);

struct HttpCall {
  std::string method = "POST", path, body;
  std::string key;               // sent as a bearer token unless empty
  double timeout_seconds = 600;  // without a byte from the server
};

// Calls on_line for each line of the body, without its end. Returns the status. Errors: kUnavailable, what failed.
Result<int> call(const Url& url, const HttpCall& call, const std::function<void(std::string_view)>& on_line);

}  // namespace toccata::cli
