// HTTP messages without the library that reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace toccata::server {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;       // as sent; methods are case-sensitive
  std::string target;       // path and query as sent
  std::string path, query;  // the path with its %XX decoded; the query as sent, without '?'
  Headers headers;          // names in lower case
  std::string body;         // empty until the whole of it was read
  std::string peer;         // "address:port"
  uint64_t id = 0;          // counts requests of this process
  bool http_1_1 = true;
  bool keep_alive = true;

  // The first header of that lower-case name; empty if there is none.
  std::string_view header(std::string_view name) const;
  bool has_header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  Headers headers;  // further ones
};

std::string_view reason_phrase(int status);

// Status line and headers, up to and with the blank line. length: of the body; -1: chunked, -2: until the connection's
// end (HTTP/1.0).
std::string response_head(const HttpResponse& response, int64_t length, bool keep_alive);

std::string lower_case(std::string_view text);
// %XX decoded; sequences that are none stay as they are.
std::string percent_decoded(std::string_view text);

}  // namespace toccata::server
