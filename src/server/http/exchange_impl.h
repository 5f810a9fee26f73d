// An exchange on a connection. It outlives the connection when the engine still holds it; its calls then do nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "server/http/connection.h"
#include "server/http/exchange.h"

namespace toccata::server {

class ExchangeImpl final : public Exchange {
 public:
  ExchangeImpl(Connection& connection, HttpRequest request, boost::asio::io_context& context);

  HttpRequest& request() override { return request_; }
  void post(std::function<void()> task) override;
  void respond(HttpResponse response) override;
  void begin_stream(HttpResponse head) override;
  void write(std::string_view bytes) override;
  void end_stream() override;
  void set_ping(std::string bytes) override { ping_ = std::move(bytes); }
  void on_close(std::function<void()> callback) override { on_close_ = std::move(callback); }
  bool closed() const override { return connection_ == nullptr || complete_; }

  // Of the connection.
  bool complete() const { return complete_; }
  int status() const { return status_; }
  void detach();  // the connection goes on without it
  void gone();    // the client has gone
  void ping();

 private:
  void send_piece(std::string_view bytes);

  Connection* connection_;
  boost::asio::io_context& context_;
  HttpRequest request_;
  std::function<void()> on_close_;
  std::string ping_;
  int status_ = 499;  // until there is an answer
  bool streaming_ = false, chunked_ = false, complete_ = false;
};

}  // namespace toccata::server
