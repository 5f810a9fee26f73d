// One request and its answer, as the handlers see it: no sockets, so tests can stand in for the client.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/message.h"

namespace toccata::server {

// Each exchange lives on one thread, that of its connection. Handlers are called there, and all functions but post()
// may be called only there. The answer is respond() once, or begin_stream(), any number of write(), end_stream().
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual HttpRequest& request() = 0;
  // From any thread: runs the task on the exchange's thread, tasks of one thread in their order. Also after the
  // client has gone. A task that is left when the server stops is dropped.
  virtual void post(std::function<void()> task) = 0;

  virtual void respond(HttpResponse response) = 0;
  virtual void begin_stream(HttpResponse head) = 0;  // its body is not looked at
  virtual void write(std::string_view bytes) = 0;
  virtual void end_stream() = 0;
  // Sent when nothing was written for a while, so that proxies and clients know the stream is alive.
  virtual void set_ping(std::string bytes) = 0;
  // Called at most once, if the client goes (or is dropped because it does not read) before the answer is complete.
  virtual void on_close(std::function<void()> callback) = 0;
  virtual bool closed() const = 0;  // the client has gone, or the answer is complete: calls are without effect
};

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // From the head alone, before the body is read. A response refuses the request.
  virtual std::optional<HttpResponse> check_head(const HttpRequest& request) = 0;
  virtual void handle(std::shared_ptr<Exchange> exchange) = 0;
  // The answer to what is not valid HTTP, or breaks a limit.
  virtual HttpResponse fault(int status, const std::string& message) = 0;
  // Adds headers that every response has.
  virtual void decorate(const HttpRequest& request, HttpResponse& response) = 0;
  // The whole answer was handed to the system, or given up (status 499).
  virtual void answered(const HttpRequest& request, int status, double seconds) = 0;
};

}  // namespace toccata::server
