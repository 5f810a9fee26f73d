// Listens, and runs connections on a few threads: one io_context per thread, each connection on one of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/http/exchange.h"
#include "server/http/request_parser.h"
#include "toccata/result.h"

namespace toccata::server {

struct HttpOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8080;  // 0: any free one
  int threads = 1;
  int64_t max_connections = 4096;  // more are answered with 503 and closed
  ParserLimits limits;
  double head_seconds = 15;   // to receive a request's head
  double body_seconds = 120;  // to receive its body
  double idle_seconds = 75;   // a kept connection without a request
  double stall_seconds = 60;  // a client that takes no byte of a waiting answer
  double ping_seconds = 15;
  int64_t max_bodies = 256 << 20;  // bytes of bodies that are being received, all together; more get 503
  size_t max_unsent = 256 << 10;   // bytes of a stream that wait for the client; it is dropped when more come
};

class HttpServer {
 public:
  // Binds and begins to answer. handler must outlive the server. Errors name the address.
  static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options, HttpHandler& handler);
  ~HttpServer();  // stops

  uint16_t port() const;
  int64_t connections() const;
  int64_t exchanges() const;  // requests whose answer is not complete
  // Closes idle connections, and each other one after its answer.
  void drain();
  // Ends the threads. Exchanges stay valid as objects, their tasks no longer run.
  void stop();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace toccata::server
