#include "server/http/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace toccata::server {
namespace {

// Answers by path: /echo gives the body back, /hold nothing at all, /stream a stream that begins with its head,
// /flood one that writes until it is closed.
class Handler final : public HttpHandler {
 public:
  std::optional<HttpResponse> check_head(const HttpRequest& r) override {
    if (r.path == "/refused") return fault(401, "refused");
    return std::nullopt;
  }
  void handle(std::shared_ptr<Exchange> e) override {
    const std::string& path = e->request().path;
    e->on_close([this] { ++gone; });
    if (path == "/echo") {
      HttpResponse response;
      response.body = e->request().body;
      e->respond(std::move(response));
    } else if (path == "/stream") {
      e->set_ping(": ping\n\n");
      e->begin_stream({});
      e->write("data: 1\n\n");
      held = e;
    } else if (path == "/flood") {
      e->begin_stream({});
      flood(e);
    } else {
      held = e;
    }
    ++handled;
  }
  void flood(const std::shared_ptr<Exchange>& e) {
    if (e->closed()) return;
    e->write(std::string(10000, 'x'));
    ++written;
    e->post([this, e] { flood(e); });
  }
  HttpResponse fault(int status, const std::string& message) override {
    HttpResponse r;
    r.status = status;
    r.body = message;
    return r;
  }
  void decorate(const HttpRequest&, HttpResponse&) override {}
  void answered(const HttpRequest&, int, double) override { ++done; }

  std::atomic<int> gone = 0, handled = 0, written = 0, done = 0;
  std::shared_ptr<Exchange> held;
};

class Client {
 public:
  explicit Client(uint16_t port, int receive_buffer = 0) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Client() { leave(false); }
  void leave(bool reset) {
    if (fd_ < 0) return;
    const linger hard{1, 0};
    if (reset) ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    ::close(fd_);
    fd_ = -1;
  }
  void send(const std::string& bytes) {
    EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  // Until `end` was received; what the server sent before it closed if that never comes.
  std::string read_until(const std::string& end) {
    std::string out;
    char buffer[4096];
    while (out.find(end) == std::string::npos) {
      pollfd p{fd_, POLLIN, 0};
      if (::poll(&p, 1, 20000) != 1) return out + "<time out>";
      const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) return out + "<closed>";
      out.append(buffer, static_cast<size_t>(n));
    }
    return out;
  }

 private:
  int fd_;
};

struct HttpTest : ::testing::Test {
  HttpOptions options;
  Handler handler;
  std::unique_ptr<HttpServer> server;

  void SetUp() override { options.port = 0; }
  uint16_t start() {
    auto started = HttpServer::start(options, handler);
    EXPECT_TRUE(started) << (started ? "" : started.error().message);
    server = std::move(*started);
    return server->port();
  }
  template <class F>
  static bool eventually(F condition) {
    for (int i = 0; i < 2000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  void TearDown() override {
    if (server) server->stop();
    handler.held.reset();
  }
};

std::string post(const std::string& path, const std::string& body, const std::string& headers = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: h\r\n" + headers + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

TEST_F(HttpTest, AnswersSeveralRequestsOnOneConnection) {
  Client client(start());
  for (const char* body : {"one", "two"}) {
    client.send(post("/echo", body));
    EXPECT_NE(client.read_until(body).find("HTTP/1.1 200 OK\r\n"), std::string::npos);
  }
  client.send(post("/echo", "three") + post("/echo", "four") + post("/refused", "five") + post("/echo", "six"));
  const std::string all = client.read_until("six");
  EXPECT_LT(all.find("three"), all.find("four"));
  EXPECT_NE(all.find("401"), std::string::npos) << "a refused request keeps its connection";
  EXPECT_EQ(server->connections(), 1);
}

TEST_F(HttpTest, HeadHasNoBody) {
  Client client(start());
  client.send("HEAD /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc" + post("/echo", "xyz"));
  const std::string all = client.read_until("xyz");
  EXPECT_NE(all.find("Content-Length: 3"), std::string::npos);
  EXPECT_EQ(all.find("abc"), std::string::npos);
}

TEST_F(HttpTest, ContinuesOnlyWhatItWillTake) {
  const uint16_t port = start();
  Client good(port), bad(port);
  good.send("POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(good.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  good.send("abc");
  EXPECT_NE(good.read_until("abc").find("200 OK"), std::string::npos);
  bad.send("POST /refused HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  const std::string refusal = bad.read_until("<never>");
  EXPECT_EQ(refusal.find("100 Continue"), std::string::npos);
  EXPECT_NE(refusal.find("401"), std::string::npos);
  EXPECT_NE(refusal.find("<closed>"), std::string::npos);
}

TEST_F(HttpTest, StreamsInChunks) {
  const uint16_t port = start();
  Client client(port);
  client.send("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
  const std::string begin = client.read_until("data: 1\n\n\r\n");
  EXPECT_NE(begin.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_NE(begin.find("\r\n9\r\ndata: 1\n\n\r\n"), std::string::npos);
  ASSERT_TRUE(eventually([&] { return handler.handled == 1; }));
  handler.held->post([e = handler.held] {
    e->write("data: 2\n\n");
    e->end_stream();
    e->write("never");
  });
  EXPECT_NE(client.read_until("0\r\n\r\n").find("data: 2"), std::string::npos);
  client.send(post("/echo", "again"));
  EXPECT_NE(client.read_until("again").find("200 OK"), std::string::npos);

  Client old(port);
  old.send("GET /stream HTTP/1.0\r\n\r\n");
  const std::string plain = old.read_until("data: 1\n\n");
  EXPECT_EQ(plain.find("chunked"), std::string::npos) << "HTTP/1.0 ends with the connection";
  ASSERT_TRUE(eventually([&] { return handler.handled == 3; }));
  handler.held->post([e = handler.held] { e->end_stream(); });
  EXPECT_EQ(old.read_until("<never>"), "<closed>");
}

TEST_F(HttpTest, ALeavingClientIsSeenAtOnce) {
  const uint16_t port = start();
  int gone = 0;
  for (const char* path : {"/hold", "/stream"}) {
    for (const bool reset : {false, true}) {
      Client client(port);
      const int before = handler.handled;
      client.send(post(path, "x"));
      ASSERT_TRUE(eventually([&] { return handler.handled == before + 1; }));
      EXPECT_EQ(handler.gone, gone);
      client.leave(reset);
      EXPECT_TRUE(eventually([&] { return handler.gone == gone + 1; })) << path << reset;
      ++gone;
    }
  }
  EXPECT_TRUE(eventually([&] { return server->connections() == 0 && server->exchanges() == 0; }));
  handler.held->post([e = handler.held] { e->write("to nobody"); });
}

TEST_F(HttpTest, AClientThatDoesNotReadIsDropped) {
  options.max_unsent = 100000;
  Client client(start(), 4096);
  client.send("GET /flood HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return handler.gone == 1; }));
  EXPECT_LT(handler.written, 1000) << "the kernel holds some, we hold max_unsent";
  EXPECT_TRUE(eventually([&] { return server->connections() == 0; }));
}

TEST_F(HttpTest, AClientThatStopsReadingIsDroppedInTheEnd) {
  options.stall_seconds = 0.3;
  options.max_unsent = 100 << 20;
  Client client(start(), 4096);
  client.send("GET /flood HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return handler.gone == 1; }));
}

TEST_F(HttpTest, SlowRequestsGetATimeout) {
  options.head_seconds = options.body_seconds = 0.3;
  const uint16_t port = start();
  Client head(port), body(port);
  head.send("POST /echo HT");
  body.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
  EXPECT_NE(head.read_until("<never>").find("408 Request Timeout"), std::string::npos);
  EXPECT_NE(body.read_until("<never>").find("408 Request Timeout"), std::string::npos);
}

TEST_F(HttpTest, IdleConnectionsAreClosed) {
  options.idle_seconds = 0.3;
  const uint16_t port = start();
  Client fresh(port), used(port);
  used.send(post("/echo", "{body}"));
  used.read_until("{body}");
  EXPECT_EQ(used.read_until("<never>"), "<closed>") << "no request has begun, so none timed out";
  EXPECT_EQ(fresh.read_until("<never>"), "<closed>");
}

TEST_F(HttpTest, PingsAQuietStream) {
  options.ping_seconds = 0.3;
  Client client(start());
  client.send("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_NE(client.read_until(": ping\n\n\r\n").find("data: 1"), std::string::npos);
}

TEST_F(HttpTest, FaultsEndTheConnection) {
  options.limits.body = 10;
  const uint16_t port = start();
  const std::pair<std::string, std::string> cases[] = {
      {post("/echo", std::string(5000, 'x')), " 413 "},
      {"GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n", " 414 "},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(20000, 'a') + "\r\n\r\n", " 431 "},
      {"nonsense\r\n\r\n", " 400 "},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", " 400 "}};
  for (const auto& [request, status] : cases) {
    Client client(port);
    client.send(request);
    const std::string answer = client.read_until("<never>");
    EXPECT_EQ(answer.find("HTTP/1.1" + status), 0u) << answer;
    EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  }
}

TEST_F(HttpTest, BodiesTogetherAreBounded) {
  options.max_bodies = 1000;
  const uint16_t port = start();
  const std::string head = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 900\r\n";
  Client slow(port), second(port), small(port);
  slow.send(head + "Expect: 100-continue\r\n\r\n");
  slow.read_until("100 Continue\r\n\r\n");
  second.send(head + "\r\n" + std::string(900, 'x'));
  const std::string answer = second.read_until("<never>");
  EXPECT_NE(answer.find("HTTP/1.1 503"), std::string::npos);
  EXPECT_NE(answer.find("Retry-After"), std::string::npos);
  small.send(post("/echo", "{small}"));
  EXPECT_NE(small.read_until("{small}").find("200 OK"), std::string::npos);
  slow.send(std::string(899, 'x') + "!");
  EXPECT_NE(slow.read_until("!").find("200 OK"), std::string::npos);
  Client third(port);
  third.send(head + "\r\n" + std::string(899, 'x') + "!");
  EXPECT_NE(third.read_until("!").find("200 OK"), std::string::npos) << "what was reserved is given back";
}

TEST_F(HttpTest, TooManyConnectionsAreTurnedAway) {
  options.max_connections = 1;
  const uint16_t port = start();
  Client first(port);
  first.send(post("/echo", "a"));
  first.read_until("a");
  Client second(port);
  EXPECT_EQ(second.read_until("<never>").find("HTTP/1.1 503"), 0u);
  first.leave(false);
  ASSERT_TRUE(eventually([&] { return server->connections() == 0; }));
  Client third(port);
  third.send(post("/echo", "b"));
  EXPECT_NE(third.read_until("b").find("200 OK"), std::string::npos);
}

TEST_F(HttpTest, DrainingClosesIdleConnectionsAndLetsAnswersEnd) {
  const uint16_t port = start();
  Client idle(port), busy(port);
  idle.send(post("/echo", "x"));
  idle.read_until("x");
  busy.send(post("/hold", "x"));
  ASSERT_TRUE(eventually([&] { return handler.handled == 2; }));
  server->drain();
  EXPECT_EQ(idle.read_until("<never>").substr(0, 8), "<closed>");
  EXPECT_EQ(server->exchanges(), 1);
  handler.held->post([e = handler.held] {
    HttpResponse r;
    r.body = "late";
    e->respond(std::move(r));
  });
  EXPECT_NE(busy.read_until("<never>").find("late<closed>"), std::string::npos);
}

TEST_F(HttpTest, APortInUseIsAnError) {
  options.port = start();
  Handler other;
  const auto again = HttpServer::start(options, other);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find(std::to_string(options.port)), std::string::npos);
}

}  // namespace
}  // namespace toccata::server
