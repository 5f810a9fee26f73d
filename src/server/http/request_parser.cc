// The only unit that sees Beast.
#include "server/http/request_parser.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

#include "server/http/message.h"

namespace toccata::server {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

std::string text(string_view s) { return std::string(s.data(), s.size()); }

// Beast's state machine with our own containers.
class Machine final : public http::basic_parser<true> {
 public:
  HttpRequest request;
  int version = 11;

 private:
  void on_request_impl(http::verb, string_view method, string_view target, int http_version, error_code& ec) override {
    ec = {};
    version = http_version;
    request.method = text(method);
    request.target = text(target);
  }
  void on_response_impl(int, string_view, int, error_code& ec) override { ec = http::error::bad_status; }
  void on_field_impl(http::field, string_view name, string_view value, error_code& ec) override {
    ec = {};
    request.headers.emplace_back(lower_case({name.data(), name.size()}), text(value));
  }
  void on_header_impl(error_code& ec) override { ec = {}; }
  void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code& ec) override { ec = {}; }
  std::size_t on_body_impl(string_view body, error_code& ec) override {
    ec = {};
    request.body.append(body.data(), body.size());
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code& ec) override { ec = {}; }
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code& ec) override {
    return on_body_impl(body, ec);
  }
  void on_finish_impl(error_code& ec) override { ec = {}; }
};

RequestParser::Fault fault_of(const error_code& ec, bool in_request_line) {
  if (ec == http::error::body_limit) return {413, "the request body is too large"};
  if (ec == http::error::header_limit) {
    if (in_request_line) return {414, "the request line is too long"};
    return {431, "the request's headers are too large"};
  }
  if (ec == http::error::bad_version) return {505, "the HTTP version is not 1.0 or 1.1"};
  if (ec == http::error::bad_content_length) return {400, "the Content-Length header is invalid"};
  if (ec == http::error::bad_transfer_encoding) return {400, "the Transfer-Encoding header is invalid"};
  return {400, "the request is not valid HTTP: " + ec.message()};
}

}  // namespace

struct RequestParser::Impl {
  ParserLimits limits;
  Machine machine;
  State state = State::kHead;
  Fault fault;
  bool body_begun = false;

  State fail(Fault f) {
    fault = std::move(f);
    return state = State::kError;
  }

  int count(std::string_view name) const {
    int n = 0;
    for (const auto& h : machine.request.headers) n += h.first == name;
    return n;
  }

  State head_complete() {
    HttpRequest& r = machine.request;
    r.http_1_1 = machine.version >= 11;
    r.keep_alive = machine.keep_alive();
    const size_t query = r.target.find('?');
    r.path = percent_decoded(r.target.substr(0, query));
    if (query != std::string::npos) r.query = r.target.substr(query + 1);
    if (r.target.size() > limits.target) return fail({414, "the request's target is too long"});
    if (machine.version != 10 && machine.version != 11) return fail({505, "the HTTP version is not 1.0 or 1.1"});
    const int lengths = count("content-length"), codings = count("transfer-encoding");
    if (lengths > 1) return fail({400, "there is more than one Content-Length header"});
    if (r.header("content-length").find_first_not_of("0123456789") != std::string_view::npos) {
      return fail({400, "the Content-Length header is invalid"});
    }
    if (lengths > 0 && codings > 0) return fail({400, "there are both Content-Length and Transfer-Encoding headers"});
    if (codings > 1 || (codings == 1 && lower_case(r.header("transfer-encoding")) != "chunked")) {
      return fail({501, "the only transfer coding for requests is chunked"});
    }
    if (codings == 1 && !r.http_1_1) return fail({400, "HTTP/1.0 has no Transfer-Encoding"});
    if (count("host") > 1 || (r.http_1_1 && count("host") != 1)) return fail({400, "one Host header is needed"});
    if (content_length().value_or(0) > limits.body) return fail({413, "the request body is too large"});
    return state = State::kBody;
  }

  std::optional<uint64_t> content_length() const {
    const boost::optional<std::uint64_t> n = machine.content_length();
    return n ? std::optional<uint64_t>(*n) : std::nullopt;
  }
};

RequestParser::RequestParser(const ParserLimits& limits) : impl_(std::make_unique<Impl>()) {
  impl_->limits = limits;
  impl_->machine.header_limit(limits.head);
  impl_->machine.body_limit(limits.body);
}
RequestParser::~RequestParser() = default;
RequestParser::RequestParser(RequestParser&&) noexcept = default;
RequestParser& RequestParser::operator=(RequestParser&&) noexcept = default;

RequestParser::State RequestParser::feed(std::string& input) {
  Impl& p = *impl_;
  size_t used = 0;
  while (p.state == State::kHead || p.state == State::kBody) {
    if (p.machine.is_done()) {
      p.state = State::kComplete;
      break;
    }
    error_code ec;
    const size_t n = p.machine.put(boost::asio::buffer(input.data() + used, input.size() - used), ec);
    used += n;
    p.body_begun = p.body_begun || (p.state == State::kBody && n > 0);
    if (p.state == State::kHead && !ec && p.machine.is_header_done()) {
      p.head_complete();
      break;
    }
    if (ec == http::error::need_more) {
      // A line feed never came: without this, a head of endless small pieces is only bounded by the limit below.
      if (p.state == State::kHead && input.size() - used > p.limits.head)
        ec = http::error::header_limit;
      else
        break;
    }
    if (ec) p.fail(fault_of(ec, p.machine.request.method.empty() && input.find('\n') > p.limits.target));
    if (!ec && n == 0 && !p.machine.is_done()) break;
  }
  input.erase(0, used);
  return p.state;
}

RequestParser::State RequestParser::state() const { return impl_->state; }
HttpRequest& RequestParser::request() { return impl_->machine.request; }
std::optional<uint64_t> RequestParser::content_length() const { return impl_->content_length(); }
bool RequestParser::has_body() const { return !impl_->machine.is_done(); }
const RequestParser::Fault& RequestParser::error() const { return impl_->fault; }

bool RequestParser::expects_continue() const {
  const HttpRequest& r = impl_->machine.request;
  return r.http_1_1 && !impl_->body_begun && lower_case(r.header("expect")) == "100-continue";
}

}  // namespace toccata::server
