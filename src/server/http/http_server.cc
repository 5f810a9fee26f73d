#include "server/http/http_server.h"

#include <algorithm>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "server/http/connection.h"
#include "server/log.h"

namespace toccata::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kTick = std::chrono::milliseconds(250);
constexpr size_t kScratch = 64 << 10;

// One thread and the connections on it.
class IoThread {
 public:
  explicit IoThread(HttpShared& shared) : shared_(shared), context_(1), timer_(context_), scratch_(kScratch, '\0') {}

  asio::io_context& context() { return context_; }
  void start() {
    arm();
    thread_ = std::thread([this] { run(); });
  }
  void stop() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }
  // On this thread.
  void add(tcp::socket socket) {
    const auto connection = std::make_shared<Connection>(std::move(socket), shared_, scratch_);
    connections_.push_back(connection);
    connection->start();
  }

 private:
  void run() {
    for (;;) {
      try {
        context_.run();
        return;
      } catch (const std::exception& e) {  // a task ran out of memory: its request ends with its connection's deadline
        log_line("a server task failed: %s", e.what());
      }
    }
  }
  void arm() {
    timer_.expires_after(kTick);
    timer_.async_wait([this](const error_code& ec) {
      if (ec) return;
      const auto now = Connection::Clock::now();
      std::erase_if(connections_, [](const auto& c) { return c.expired(); });
      for (size_t i = 0; i < connections_.size(); ++i) {  // a tick may not add, but callbacks may take long
        if (const auto connection = connections_[i].lock()) connection->tick(now);
      }
      arm();
    });
  }

  HttpShared& shared_;
  asio::io_context context_;
  asio::steady_timer timer_;
  std::string scratch_;
  std::vector<std::weak_ptr<Connection>> connections_;
  std::thread thread_;
};

Result<tcp::acceptor> bind(asio::io_context& context, const HttpOptions& options) {
  const std::string where = options.host + ":" + std::to_string(options.port);
  const auto refuse = [&](const error_code& ec) {
    return fail(ErrorCode::kUnavailable, "cannot listen on " + where + ": " + ec.message());
  };
  error_code ec;
  tcp::resolver resolver(context);
  const auto found = resolver.resolve(options.host, std::to_string(options.port),
                                      tcp::resolver::passive | tcp::resolver::numeric_service, ec);
  if (ec) return refuse(ec);
  const tcp::endpoint endpoint = found.begin()->endpoint();
  tcp::acceptor acceptor(context);
  acceptor.open(endpoint.protocol(), ec);
  if (!ec) acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) acceptor.bind(endpoint, ec);
  if (!ec) acceptor.listen(1024, ec);
  if (ec) return refuse(ec);
  return acceptor;
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(const HttpOptions& options, HttpHandler& handler) : options_(options), shared_{options_, handler} {
    for (int i = 0; i < std::max(1, options.threads); ++i) threads_.push_back(std::make_unique<IoThread>(shared_));
  }
  ~Impl() { stop(); }

  Status start() {
    Result<tcp::acceptor> acceptor = bind(threads_[0]->context(), options_);
    if (!acceptor) return tl::unexpected(acceptor.error());
    acceptor_.emplace(std::move(*acceptor));
    error_code ec;
    port_ = acceptor_->local_endpoint(ec).port();
    asio::co_spawn(threads_[0]->context(), accept(), asio::detached);
    for (const auto& thread : threads_) thread->start();
    return {};
  }
  void stop() {
    for (const auto& thread : threads_) thread->stop();
    error_code ec;
    if (acceptor_) acceptor_->close(ec);
  }

  const HttpOptions options_;
  HttpShared shared_;
  uint16_t port_ = 0;

 private:
  asio::awaitable<void> accept() {
    size_t next = 0;
    for (;;) {
      IoThread& thread = *threads_[next++ % threads_.size()];
      error_code ec;
      tcp::socket socket =
          co_await acceptor_->async_accept(thread.context(), asio::redirect_error(asio::use_awaitable, ec));
      if (ec == asio::error::operation_aborted) co_return;
      if (ec) {  // no file descriptors left, for example: some may come free
        asio::steady_timer pause(threads_[0]->context(), std::chrono::milliseconds(100));
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        continue;
      }
      if (shared_.connections >= options_.max_connections) {
        turn_away(socket);
        continue;
      }
      asio::post(thread.context(), [&thread, s = std::move(socket)]() mutable { thread.add(std::move(s)); });
    }
  }

  void turn_away(tcp::socket& socket) {
    HttpResponse response = shared_.handler.fault(503, "the server has too many connections");
    response.headers.emplace_back("Retry-After", "1");
    const std::string text = response_head(response, static_cast<int64_t>(response.body.size()), false) + response.body;
    error_code ec;
    socket.non_blocking(true, ec);
    socket.write_some(asio::buffer(text), ec);
  }

  std::vector<std::unique_ptr<IoThread>> threads_;
  std::optional<tcp::acceptor> acceptor_;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpOptions& options, HttpHandler& handler) {
  auto impl = std::make_unique<Impl>(options, handler);
  if (Status s = impl->start(); !s) return tl::unexpected(s.error());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

uint16_t HttpServer::port() const { return impl_->port_; }
int64_t HttpServer::connections() const { return impl_->shared_.connections; }
int64_t HttpServer::exchanges() const { return impl_->shared_.exchanges; }
void HttpServer::drain() { impl_->shared_.draining = true; }
void HttpServer::stop() { impl_->stop(); }

}  // namespace toccata::server
