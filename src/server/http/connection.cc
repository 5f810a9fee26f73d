#include "server/http/connection.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "server/http/exchange_impl.h"
#include "server/log.h"

namespace toccata::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr size_t kReadAhead = 64 << 10;    // bytes of later requests that may wait in memory
constexpr size_t kKeptCapacity = 8 << 10;  // buffers that grew beyond this are given back
constexpr uint64_t kSmallBody = 64 << 10;  // read and dropped so that a refused request keeps its connection
constexpr auto kLinger = std::chrono::seconds(2);

Connection::Clock::duration seconds(double s) {
  return std::chrono::duration_cast<Connection::Clock::duration>(std::chrono::duration<double>(s));
}

// Counts bytes as taken for as long as it lives.
class Reserved {
 public:
  Reserved(std::atomic<int64_t>& total, int64_t bytes)
      : total_(total), bytes_(bytes), before_(total.fetch_add(bytes)) {}
  ~Reserved() { total_ -= bytes_; }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;
  int64_t before() const { return before_; }

 private:
  std::atomic<int64_t>& total_;
  const int64_t bytes_, before_;
};

void recycle(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kKeptCapacity) std::string().swap(buffer);
}

std::string name_of(const asio::ip::tcp::socket& socket) {
  error_code ec;
  const auto peer = socket.remote_endpoint(ec);
  return ec ? "a client" : peer.address().to_string() + ":" + std::to_string(peer.port());
}

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, HttpShared& shared, std::string& scratch)
    : shared_(shared),
      scratch_(scratch),
      socket_(std::move(socket)),
      wake_(socket_.get_executor()),
      more_(socket_.get_executor()),
      peer_(name_of(socket_)),
      parser_(shared.options.limits) {
  ++shared_.connections;
}

Connection::~Connection() { --shared_.connections; }

void Connection::start() {
  error_code ec;
  socket_.non_blocking(true, ec);
  socket_.set_option(asio::ip::tcp::no_delay(true), ec);
  // What a client does not read waits in the kernel, too: without this up to several MB per connection.
  socket_.set_option(asio::socket_base::send_buffer_size(64 << 10), ec);
  const auto end = [self = shared_from_this()](const std::exception_ptr& fault) {
    if (fault) self->close();  // out of memory: this client alone is dropped
  };
  asio::co_spawn(socket_.get_executor(), read_all(), end);
  asio::co_spawn(socket_.get_executor(), serve(), end);
}

void Connection::enter(Phase phase) {
  if (!alive()) return;
  phase_ = phase;
  deadline_ = Clock::time_point::max();
  const HttpOptions& o = shared_.options;
  if (phase == Phase::kIdle) deadline_ = Clock::now() + seconds(o.idle_seconds);
  if (phase == Phase::kHead) deadline_ = Clock::now() + seconds(o.head_seconds);
  if (phase == Phase::kBody) deadline_ = Clock::now() + seconds(o.body_seconds);
  if (phase == Phase::kLinger) deadline_ = Clock::now() + kLinger;
}

void Connection::wake() {
  woken_ = true;
  wake_.cancel();
}

asio::awaitable<void> Connection::wait() {
  if (!woken_) {
    error_code ec;
    wake_.expires_at(Clock::time_point::max());
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
  }
  woken_ = false;
}

void Connection::tick(Clock::time_point now) {
  if (!alive()) return;
  if (phase_ == Phase::kIdle && shared_.draining) return close();
  if (now >= deadline_) {
    if (phase_ != Phase::kHead && phase_ != Phase::kBody) return close();
    timed_out_ = true;
    deadline_ = Clock::time_point::max();
    return wake();
  }
  if (unsent_ > 0 && now - last_sent_ > seconds(shared_.options.stall_seconds)) {
    log_line("%s has read nothing for %.0f s: dropped with %zu bytes unsent", peer_.c_str(),
             shared_.options.stall_seconds, unsent_ + out_.size());
    return close();
  }
  const bool quiet = phase_ == Phase::kAnswer && unsent_ == 0 && out_.empty();
  if (quiet && exchange_ && now - last_sent_ > seconds(shared_.options.ping_seconds)) exchange_->ping();
}

void Connection::close() {
  if (!alive()) return;
  phase_ = Phase::kClosed;
  error_code ec;
  socket_.close(ec);
  more_.cancel();
  wake();
  if (exchange_) exchange_->gone();
}

void Connection::client_gone() {
  eof_ = true;
  keep_alive_ = false;
  // A client that closed its side after a request whose answer is ready still gets it.
  if (phase_ == Phase::kAnswer && exchange_ && exchange_->complete()) return wake();
  close();
}

asio::awaitable<void> Connection::read_all() {
  const auto self = shared_from_this();
  error_code ec;
  while (alive()) {
    if (in_.size() >= kReadAhead) {
      more_.expires_at(Clock::time_point::max());
      co_await more_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
      continue;
    }
    co_await socket_.async_wait(asio::ip::tcp::socket::wait_read, asio::redirect_error(asio::use_awaitable, ec));
    if (ec || !alive()) break;
    const size_t n = socket_.read_some(asio::buffer(scratch_), ec);
    if (ec == asio::error::would_block) continue;
    if (ec || n == 0) break;
    in_.append(scratch_, 0, n);
    wake();
  }
  if (alive()) client_gone();
}

void Connection::send(const HttpResponse& response, int64_t length) {
  out_ += response_head(response, length, keep_alive_);
}

asio::awaitable<bool> Connection::flush() {
  error_code ec;
  writing_.swap(out_);
  unsent_ = writing_.size();
  last_sent_ = Clock::now();
  while (unsent_ > 0 && alive()) {
    const auto rest = asio::buffer(writing_.data() + (writing_.size() - unsent_), unsent_);
    unsent_ -= co_await socket_.async_write_some(rest, asio::redirect_error(asio::use_awaitable, ec));
    if (ec) close();
    last_sent_ = Clock::now();
  }
  unsent_ = 0;
  recycle(writing_);
  co_return alive();
}

// False: the connection ends (what there is to say was said).
asio::awaitable<bool> Connection::read_head() {
  for (;;) {
    const RequestParser::State state = parser_.feed(in_);
    more_.cancel();
    if (state == RequestParser::State::kBody || state == RequestParser::State::kComplete) co_return alive();
    keep_alive_ = false;
    if (state == RequestParser::State::kError) {
      const RequestParser::Fault& fault = parser_.error();
      co_await refuse(shared_.handler.fault(fault.status, fault.message), true);
      co_return false;
    }
    if (timed_out_) {
      co_await refuse(shared_.handler.fault(408, "the request did not arrive in time"), true);
      co_return false;
    }
    co_await wait();
    if (!alive() || eof_) co_return false;
    if (phase_ == Phase::kIdle && !in_.empty()) enter(Phase::kHead);
  }
}

asio::awaitable<bool> Connection::read_body() {
  enter(Phase::kBody);
  for (;;) {
    const RequestParser::State state = parser_.feed(in_);
    more_.cancel();
    if (state == RequestParser::State::kComplete) co_return alive();
    if (state == RequestParser::State::kError || timed_out_) {
      const RequestParser::Fault fault =
          timed_out_ ? RequestParser::Fault{408, "the request's body did not arrive in time"} : parser_.error();
      co_await refuse(shared_.handler.fault(fault.status, fault.message), true);
      co_return false;
    }
    co_await wait();
    if (!alive() || eof_) co_return false;
  }
}

// Answers without a handler. body_unread: the rest of the request cannot be skipped, so the connection must end.
asio::awaitable<bool> Connection::refuse(HttpResponse response, bool body_unread) {
  HttpRequest& request = parser_.request();
  if (!body_unread && parser_.has_body()) {
    const bool small = !parser_.expects_continue() && parser_.content_length().value_or(kSmallBody + 1) <= kSmallBody;
    if (small && !co_await read_body()) co_return false;
    body_unread = !small;
  }
  if (body_unread) keep_alive_ = false;
  enter(Phase::kAnswer);
  shared_.handler.decorate(request, response);
  send(response, static_cast<int64_t>(response.body.size()));
  if (request.method != "HEAD") out_ += response.body;
  const bool sent = co_await flush();
  shared_.handler.answered(request, response.status, 0);
  co_return sent&& keep_alive_;
}

// As read_body(), within what all bodies together may take.
asio::awaitable<bool> Connection::receive_body() {
  if (!parser_.has_body()) co_return co_await read_body();
  const auto bytes = static_cast<int64_t>(parser_.content_length().value_or(shared_.options.limits.body));
  const Reserved reserved(shared_.bodies, bytes);
  if (reserved.before() > 0 && reserved.before() + bytes > shared_.options.max_bodies) {
    HttpResponse response = shared_.handler.fault(503, "too many large requests arrive at once");
    response.headers.emplace_back("Retry-After", "1");
    co_await refuse(std::move(response), true);
    co_return false;
  }
  if (parser_.expects_continue()) {
    out_ += "HTTP/1.1 100 Continue\r\n\r\n";
    if (!co_await flush()) co_return false;
  }
  co_return co_await read_body();
}

asio::awaitable<void> Connection::answer() {
  const Clock::time_point begin = Clock::now();
  auto& context = static_cast<asio::io_context&>(asio::query(socket_.get_executor(), asio::execution::context));
  const auto exchange = std::make_shared<ExchangeImpl>(*this, std::move(parser_.request()), context);
  exchange_ = exchange;
  ++shared_.exchanges;
  enter(Phase::kAnswer);
  last_sent_ = begin;
  shared_.handler.handle(exchange);
  while (alive() && !(exchange->complete() && out_.empty())) {
    if (out_.empty())
      co_await wait();
    else
      co_await flush();
  }
  exchange_.reset();
  const bool complete = exchange->complete() && alive();
  exchange->detach();
  --shared_.exchanges;
  const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
  shared_.handler.answered(exchange->request(), complete ? exchange->status() : 499, elapsed);
}

asio::awaitable<void> Connection::serve() {
  const auto self = shared_from_this();
  while (alive()) {
    enter(in_.empty() ? Phase::kIdle : Phase::kHead);
    timed_out_ = false;
    parser_ = RequestParser(shared_.options.limits);
    if (!co_await read_head()) break;
    HttpRequest& request = parser_.request();
    request.peer = peer_;
    request.id = ++shared_.requests;
    keep_alive_ = request.keep_alive && !shared_.draining && !eof_;
    std::optional<HttpResponse> refusal = shared_.handler.check_head(request);
    if (refusal) {
      if (!co_await refuse(std::move(*refusal), false)) break;
      continue;
    }
    if (!co_await receive_body()) break;
    co_await answer();
    if (!keep_alive_) break;
    if (in_.empty()) recycle(in_);
  }
  co_await linger();
  close();
}

// Closing while bytes from the client are unread would make the kernel throw away what it has not sent yet.
asio::awaitable<void> Connection::linger() {
  if (!alive() || eof_) co_return;
  error_code ec;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ec);
  enter(Phase::kLinger);
  while (alive() && !eof_) {
    in_.clear();
    more_.cancel();
    co_await wait();
  }
}

}  // namespace toccata::server
