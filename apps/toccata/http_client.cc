#include "http_client.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "arg_parser.h"

namespace toccata::cli {
namespace {

tl::unexpected<Error> broken(const Url& url, const std::string& what) {
  return fail(ErrorCode::kUnavailable, url.host + ":" + url.port + ": " + what);
}

class Socket {
 public:
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  // "" or what failed.
  std::string connect(const Url& url, double timeout) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (const int e = ::getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &found); e != 0)
      return ::gai_strerror(e);
    std::string fault = "no address";
    for (const addrinfo* a = found; a != nullptr && fd_ < 0; a = a->ai_next) {
      fd_ = ::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (fd_ >= 0 && ::connect(fd_, a->ai_addr, a->ai_addrlen) == 0) break;
      fault = std::strerror(errno);
      if (fd_ >= 0) ::close(fd_);
      fd_ = -1;
    }
    ::freeaddrinfo(found);
    if (fd_ < 0) return fault;
    const int on = 1;
    const timeval limit{static_cast<time_t>(timeout), 0};
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return "";
  }
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  // 0 at the end, below 0 for a fault.
  ssize_t receive(std::string& out) const {
    char buffer[1 << 14];
    const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
    if (n > 0) out.append(buffer, static_cast<size_t>(n));
    return n;
  }

 private:
  int fd_ = -1;
};

// Takes the chunks that are complete off the front of `raw`.
void unchunk(std::string& raw, std::string& body) {
  size_t at = 0;
  for (;;) {
    const size_t end = raw.find("\r\n", at);
    if (end == std::string::npos) break;
    const size_t size = std::strtoul(raw.c_str() + at, nullptr, 16);
    if (raw.size() < end + 4 || raw.size() - end - 4 < size) break;
    body.append(raw, end + 2, size);
    at = end + 4 + size;
  }
  raw.erase(0, at);
}

void take_lines(std::string& body, bool last, const std::function<void(std::string_view)>& on_line) {
  size_t at = 0;
  for (size_t end; (end = body.find('\n', at)) != std::string::npos; at = end + 1) {
    on_line(std::string_view(body).substr(at, end - at));
  }
  body.erase(0, at);
  if (last && !body.empty()) on_line(body);
}

std::string head_of(const Url& url, const HttpCall& c) {
  std::string head =
      c.method + " " + url.path + c.path + " HTTP/1.1\r\nHost: " + url.host + ":" + url.port +
      "\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(c.body.size()) +
      "\r\n";
  if (!c.key.empty()) head += "Authorization: Bearer " + c.key + "\r\n";
  return head + "\r\n";
}

}  // namespace

Result<Url> parse_url(const std::string& text) {
  std::string rest = text;
  if (const size_t scheme = rest.find("://"); scheme != std::string::npos) {
    if (rest.substr(0, scheme) != "http") {
      return fail(ErrorCode::kInvalidArgument, "only http:// addresses can be measured, not " + cli::quoted(text));
    }
    rest.erase(0, scheme + 3);
  }
  Url url;
  const size_t slash = rest.find('/');
  if (slash != std::string::npos) url.path = rest.substr(slash);
  while (!url.path.empty() && url.path.back() == '/') url.path.pop_back();
  rest = rest.substr(0, slash);
  const size_t colon = rest.rfind(':');
  url.host = rest.substr(0, colon);
  url.port = colon == std::string::npos ? "80" : rest.substr(colon + 1);
  if (url.host.empty() || url.port.empty())
    return fail(ErrorCode::kInvalidArgument, "not an address: " + cli::quoted(text));
  return url;
}

Result<int> call(const Url& url, const HttpCall& c, const std::function<void(std::string_view)>& on_line) {
  Socket socket;
  if (const std::string fault = socket.connect(url, c.timeout_seconds); !fault.empty()) return broken(url, fault);
  if (!socket.send(head_of(url, c)) || !socket.send(c.body)) return broken(url, "the request could not be sent");
  std::string raw, body;
  size_t head = std::string::npos;
  while ((head = raw.find("\r\n\r\n")) == std::string::npos) {
    if (socket.receive(raw) <= 0) return broken(url, "closed before it answered");
  }
  if (raw.size() < 12 || raw.compare(0, 5, "HTTP/") != 0) return broken(url, "no HTTP answer");
  const int status = static_cast<int>(parse_integer(raw.substr(9, 3)).value_or(0));
  const bool chunked = raw.substr(0, head).find("chunked") != std::string::npos;
  raw.erase(0, head + 4);
  for (;;) {
    if (chunked)
      unchunk(raw, body);
    else
      body.append(raw), raw.clear();
    take_lines(body, false, on_line);
    const ssize_t n = socket.receive(raw);
    if (n < 0) return broken(url, "the answer broke off");
    if (n == 0) break;
  }
  take_lines(body, true, on_line);
  return status;
}

}  // namespace toccata::cli
