#include "server/http/exchange_impl.h"

#include <cstdio>

#include <boost/asio/post.hpp>

#include "server/log.h"

namespace toccata::server {

ExchangeImpl::ExchangeImpl(Connection& connection, HttpRequest request, boost::asio::io_context& context)
    : connection_(&connection), context_(context), request_(std::move(request)) {}

void ExchangeImpl::post(std::function<void()> task) { boost::asio::post(context_, std::move(task)); }

void ExchangeImpl::respond(HttpResponse response) {
  if (closed() || streaming_) return;
  connection_->shared_.handler.decorate(request_, response);
  status_ = response.status;
  connection_->send(response, static_cast<int64_t>(response.body.size()));
  if (request_.method != "HEAD") connection_->out_ += response.body;
  complete_ = true;
  connection_->wake();
}

void ExchangeImpl::begin_stream(HttpResponse head) {
  if (closed() || streaming_) return;
  connection_->shared_.handler.decorate(request_, head);
  status_ = head.status;
  streaming_ = true;
  chunked_ = request_.http_1_1;
  if (!chunked_) connection_->keep_alive_ = false;
  connection_->send(head, chunked_ ? -1 : -2);
  connection_->wake();
}

void ExchangeImpl::send_piece(std::string_view bytes) {
  if (request_.method == "HEAD" || bytes.empty()) return;
  std::string& out = connection_->out_;
  if (chunked_) {
    char size[20];
    const int n = std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
    out.append(size, static_cast<size_t>(n));
  }
  out += bytes;
  if (chunked_) out += "\r\n";
}

void ExchangeImpl::write(std::string_view bytes) {
  if (closed() || !streaming_) return;
  // What waits before this piece counts, so that one large piece alone is no reason to drop a client.
  const size_t waiting = connection_->out_.size() + connection_->unsent_;
  if (waiting > connection_->shared_.options.max_unsent) {
    log_line("%s reads too slowly: its stream is dropped with %zu bytes unsent", connection_->peer_.c_str(), waiting);
    connection_->close();
    return;
  }
  send_piece(bytes);
  connection_->wake();
}

void ExchangeImpl::ping() {
  if (closed() || !streaming_ || ping_.empty()) return;
  send_piece(ping_);
  connection_->wake();
}

void ExchangeImpl::end_stream() {
  if (closed() || !streaming_) return;
  if (chunked_ && request_.method != "HEAD") connection_->out_ += "0\r\n\r\n";
  complete_ = true;
  connection_->wake();
}

void ExchangeImpl::detach() {
  connection_ = nullptr;
  on_close_ = nullptr;
}

void ExchangeImpl::gone() {
  const std::function<void()> callback = std::move(on_close_);
  const bool unfinished = !complete_;
  detach();
  if (unfinished && callback) callback();
}

}  // namespace toccata::server
