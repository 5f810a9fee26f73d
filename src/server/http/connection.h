// A client's connection. Two coroutines on one thread: one reads all the time, so that a client that goes is seen at
// once in every state; the other takes requests from what was read and writes their answers.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "server/http/http_server.h"

namespace toccata::server {

class ExchangeImpl;

// What the connections of one server share.
struct HttpShared {
  const HttpOptions& options;
  HttpHandler& handler;
  std::atomic<int64_t> connections = 0, exchanges = 0;
  std::atomic<int64_t> bodies = 0;  // bytes that are being received, or were announced
  std::atomic<uint64_t> requests = 0;
  std::atomic<bool> draining = false;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Clock = std::chrono::steady_clock;

  // scratch: of the thread, for reading.
  Connection(boost::asio::ip::tcp::socket socket, HttpShared& shared, std::string& scratch);
  ~Connection();
  void start();
  // Called a few times per second: deadlines, pings, draining.
  void tick(Clock::time_point now);

 private:
  friend class ExchangeImpl;
  enum class Phase { kIdle, kHead, kBody, kAnswer, kLinger, kClosed };

  boost::asio::awaitable<void> read_all();
  boost::asio::awaitable<void> serve();
  boost::asio::awaitable<bool> read_head();
  boost::asio::awaitable<bool> read_body();
  boost::asio::awaitable<bool> receive_body();
  boost::asio::awaitable<void> answer();
  boost::asio::awaitable<bool> flush();
  boost::asio::awaitable<void> linger();
  boost::asio::awaitable<bool> refuse(HttpResponse response, bool body_unread);
  boost::asio::awaitable<void> wait();  // until wake(), or something happens to the connection

  void enter(Phase phase);
  void wake();
  void client_gone();
  void close();
  void send(const HttpResponse& response, int64_t length);
  bool alive() const { return phase_ != Phase::kClosed; }

  HttpShared& shared_;
  std::string& scratch_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer wake_, more_;  // for serve() and for read_all()
  std::string peer_;

  Phase phase_ = Phase::kIdle;
  Clock::time_point deadline_ = Clock::time_point::max();
  bool woken_ = false;    // wake() was called while serve() did not wait
  bool reading_ = false;  // read_all() waits for room in in_
  bool eof_ = false, timed_out_ = false, keep_alive_ = true;
  std::string in_;  // read, not yet taken
  RequestParser parser_;

  std::shared_ptr<ExchangeImpl> exchange_;  // of the request that is being answered
  std::string out_, writing_;               // waits for being sent; is being sent
  size_t unsent_ = 0;                       // bytes of both
  Clock::time_point last_sent_{};
};

}  // namespace toccata::server
