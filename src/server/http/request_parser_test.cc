#include "server/http/request_parser.h"

#include <gtest/gtest.h>

namespace toccata::server {
namespace {

using State = RequestParser::State;

// The state after all bytes, fed in pieces of `piece` bytes.
State feed(RequestParser& parser, const std::string& bytes, size_t piece, std::string& input) {
  for (size_t at = 0; at < bytes.size(); at += piece) {
    input += bytes.substr(at, piece);
    for (State before = State::kError; before != parser.state();) {
      before = parser.state();
      parser.feed(input);
    }
  }
  return parser.state();
}

int status_of(const std::string& bytes, const ParserLimits& limits = {}) {
  int status = -1;
  for (const size_t piece : {size_t{1}, size_t{7}, bytes.size()}) {
    RequestParser parser(limits);
    std::string input;
    const State state = feed(parser, bytes, piece, input);
    const int now = state == State::kError ? parser.error().status : state == State::kComplete ? 200 : 100;
    EXPECT_EQ(now, status == -1 ? now : status) << "depends on how the bytes arrive: " << bytes.substr(0, 80);
    status = now;
  }
  return status;
}

TEST(RequestParser, ReadsARequestWhateverThePieces) {
  const std::string text = "POST /v1/a%20b?x=1 HTTP/1.1\r\nHost: h\r\nX-Odd:  v \r\nContent-Length: 5\r\n\r\nhelloGET";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    RequestParser parser{ParserLimits{}};
    std::string input;
    ASSERT_EQ(feed(parser, text, piece, input), State::kComplete);
    const HttpRequest& r = parser.request();
    EXPECT_EQ(r.method, "POST");
    EXPECT_EQ(r.path, "/v1/a b");
    EXPECT_EQ(r.query, "x=1");
    EXPECT_EQ(r.header("x-odd"), "v");
    EXPECT_EQ(r.body, "hello");
    EXPECT_TRUE(r.keep_alive);
    EXPECT_EQ(input, "GET") << "what follows belongs to the next request";
  }
}

TEST(RequestParser, ReadsChunkedBodies) {
  const std::string text =
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    RequestParser parser{ParserLimits{}};
    std::string input;
    ASSERT_EQ(feed(parser, text, piece, input), State::kComplete);
    EXPECT_EQ(parser.request().body, "abcde");
  }
}

TEST(RequestParser, RefusesWhatTwoProgramsCouldReadDifferently) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\n";
  EXPECT_EQ(status_of(head + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
  EXPECT_EQ(status_of(head + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n"), 400);
  EXPECT_EQ(status_of(head + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na"), 400);
  EXPECT_EQ(status_of(head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\na"), 400);
  EXPECT_EQ(status_of(head + "Content-Length: 1, 1\r\n\r\na"), 400);
  EXPECT_EQ(status_of(head + "Content-Length: +1\r\n\r\na"), 400);
  EXPECT_EQ(status_of(head + "Content-Length: -1\r\n\r\na"), 400);
  EXPECT_EQ(status_of(head + "Content-Length: 99999999999999999999\r\n\r\na"), 400);
  EXPECT_EQ(status_of(head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), 501);
  EXPECT_EQ(status_of(head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n"), 400);
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400) << "no Host";
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nX Y: b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost : a\r\n\r\n"), 400);
}

TEST(RequestParser, RefusesWhatIsNoHttp) {
  EXPECT_EQ(status_of("\x16\x03\x01\x02 TLS hello\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: h\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET  / HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /a\x01 HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("FLY / HTTP/1.1\r\nHost: h\r\n\r\n"), 200) << "an unknown method is the router's matter";
}

TEST(RequestParser, KeepsItsLimits) {
  ParserLimits limits;
  limits.head = 1024;
  limits.target = 100;
  limits.body = 10;
  const std::string host = " HTTP/1.1\r\nHost: h\r\n";
  EXPECT_EQ(status_of("GET /" + std::string(99, 'a') + host + "\r\n", limits), 200);
  EXPECT_EQ(status_of("GET /" + std::string(100, 'a') + host + "\r\n", limits), 414);
  EXPECT_EQ(status_of("GET /" + std::string(4000, 'a') + host + "\r\n", limits), 414);
  EXPECT_EQ(status_of("GET /" + host + "X: " + std::string(4000, 'a') + "\r\n\r\n", limits), 431);
  std::string many = "GET /" + host;
  for (int i = 0; i < 300; ++i) many += "X: y\r\n";
  EXPECT_EQ(status_of(many + "\r\n", limits), 431);
  EXPECT_EQ(status_of("POST /" + host + "Content-Length: 11\r\n\r\n", limits), 413);
  EXPECT_EQ(status_of("POST /" + host + "Transfer-Encoding: chunked\r\n\r\nb\r\n12345678901\r\n0\r\n\r\n", limits),
            413);
  EXPECT_EQ(status_of("POST /" + host + "Content-Length: 10\r\n\r\n1234567890", limits), 200);
}

TEST(RequestParser, StopsAtTheHeadSoThatItCanBeRefused) {
  RequestParser parser{ParserLimits{}};
  std::string input = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab";
  EXPECT_EQ(parser.feed(input), State::kBody);
  EXPECT_TRUE(parser.expects_continue());
  EXPECT_TRUE(parser.has_body());
  EXPECT_EQ(parser.content_length(), 2u);
  EXPECT_EQ(parser.feed(input), State::kComplete);
  EXPECT_FALSE(parser.expects_continue());
}

TEST(RequestParser, KnowsWhetherTheConnectionStays) {
  const auto keep = [](const std::string& text) {
    RequestParser parser{ParserLimits{}};
    std::string input = text;
    parser.feed(input);
    return parser.request().keep_alive;
  };
  EXPECT_TRUE(keep("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_FALSE(keep("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
  EXPECT_FALSE(keep("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(keep("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(Message, DecodesPercentSequences) {
  EXPECT_EQ(percent_decoded("a%2Fb%zz%4"), "a/b%zz%4");
  EXPECT_EQ(percent_decoded("%41%4"), "A%4");
  EXPECT_EQ(percent_decoded("%4a"), "J");
}

}  // namespace
}  // namespace toccata::server
