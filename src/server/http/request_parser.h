// One HTTP/1.x request, read from the bytes of a connection. Strict where leniency lets two programs disagree about
// where a request ends: no Transfer-Encoding beside Content-Length, no second Content-Length, no coding but chunked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "server/http/message.h"

namespace toccata::server {

struct ParserLimits {
  uint32_t head = 16 << 10;   // bytes of request line and headers: 431, or 414 when the request line alone is longer
  uint32_t target = 8 << 10;  // bytes: 414
  uint64_t body = 8 << 20;    // bytes: 413
};

class RequestParser {
 public:
  explicit RequestParser(const ParserLimits& limits);
  ~RequestParser();
  RequestParser(RequestParser&&) noexcept;
  RequestParser& operator=(RequestParser&&) noexcept;

  enum class State {
    kHead,      // the head is not complete: feed more
    kBody,      // request() has the head; feed more for the body
    kComplete,  // request() is whole; bytes after it were left in the input
    kError,     // see error(); the connection cannot be used further
  };
  // Takes what it can from the front of `input`. Stops once when the head is complete (kBody), even if the body is
  // there: the caller may want to refuse it.
  State feed(std::string& input);
  State state() const;

  HttpRequest& request();
  bool expects_continue() const;                   // and none of the body was read yet
  std::optional<uint64_t> content_length() const;  // absent: chunked, or no body
  bool has_body() const;

  struct Fault {
    int status = 400;
    std::string message;
  };
  const Fault& error() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace toccata::server
