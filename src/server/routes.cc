// Which request goes where, and what is refused from the head alone.
#include <algorithm>
#include <iterator>

#include "server/log.h"
#include "server/service.h"

namespace toccata::server {
namespace {

std::string_view method_of(const HttpRequest& request) {
  return request.method == "HEAD" ? std::string_view("GET") : std::string_view(request.method);
}

bool fits(std::string_view pattern, std::string_view path) {
  if (!pattern.ends_with('*')) return pattern == path;
  pattern.remove_suffix(1);
  return path.size() > pattern.size() && path.starts_with(pattern);
}

ApiError unauthorized(bool key_given) {
  ApiError e;
  e.status = 401;
  e.type = "authentication_error";
  e.code = "invalid_api_key";
  e.message = key_given ? "the API key is not valid" : "an API key is needed: send 'Authorization: Bearer KEY'";
  return e;
}

}  // namespace

const Service::Route Service::kRoutes[] = {
    {"GET", "/", &Service::page, false, false},
    {"GET", "/web/*", &Service::page, false, false},
    {"GET", "/health", &Service::health, false, false},
    {"GET", "/ready", &Service::ready, false, false},
    {"GET", "/version", &Service::version, false, false},
    {"GET", "/metrics", &Service::metrics, false, false},
    {"GET", "/debug/steps", &Service::steps, true, true},
    {"GET", "/openapi.json", &Service::openapi, false, false},
    {"GET", "/v1/models", &Service::models, true, false},
    {"GET", "/v1/models/*", &Service::model, true, false},
    {"POST", "/v1/completions", &Service::completions, true, true},
    {"POST", "/v1/chat/completions", &Service::chat_completions, true, true},
    {"POST", "/tokenize", &Service::tokenize, true, true},
    {"POST", "/detokenize", &Service::detokenize, true, true},
};

bool Service::offered(const Route& route) const {
  if (route.handler == &Service::page) return options_.webui;
  return options_.metrics || (route.handler != &Service::metrics && route.handler != &Service::steps);
}

const Service::Route* Service::find(const HttpRequest& request, std::string* allowed) const {
  for (const Route& route : kRoutes) {
    if (!fits(route.path, request.path) || !offered(route)) continue;
    *allowed = std::string(route.method) == "GET" ? "GET, HEAD" : route.method;
    return &route;
  }
  return nullptr;
}

const std::string* Service::allowed_origin(const HttpRequest& request) const {
  const std::string_view origin = request.header("origin");
  if (origin.empty()) return nullptr;
  for (const std::string& allowed : options_.cors_origins) {
    if (allowed == "*" || allowed == origin) return &allowed;
  }
  return nullptr;
}

std::optional<HttpResponse> Service::preflight(const HttpRequest& request, const std::string& allowed) const {
  if (request.method != "OPTIONS" || request.header("access-control-request-method").empty()) return std::nullopt;
  if (allowed_origin(request) == nullptr) return std::nullopt;
  HttpResponse response;
  response.status = 204;
  response.content_type.clear();
  response.headers = {{"Access-Control-Allow-Methods", allowed},
                      {"Access-Control-Allow-Headers", "Authorization, Content-Type"},
                      {"Access-Control-Max-Age", "600"}};
  return response;
}

std::optional<ApiError> Service::not_ready() const {
  if (draining_) return unavailable_error("the server is shutting down", "draining");
  if (engine_ == nullptr) return unavailable_error("the model is still being loaded", "loading");
  return std::nullopt;
}

std::optional<HttpResponse> Service::check_head(const HttpRequest& request) {
  std::string allowed;
  const Route* route = find(request, &allowed);
  if (route == nullptr) return fault(404, "there is no " + request.path.substr(0, 200));
  if (std::optional<HttpResponse> answer = preflight(request, allowed)) return answer;
  if (method_of(request) != route->method) {
    HttpResponse response = fault(405, request.path + " takes " + allowed);
    response.headers.emplace_back("Allow", allowed);
    return response;
  }
  if (route->needs_key && keys_.needed() && !keys_.accepts(request.header("authorization"))) {
    HttpResponse response = error_response(unauthorized(request.has_header("authorization")));
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  }
  if (route->needs_engine) {
    if (const std::optional<ApiError> e = not_ready()) return error_response(*e);
  }
  if (const std::string expect = lower_case(request.header("expect")); !expect.empty() && expect != "100-continue") {
    return fault(417, "the only expectation that is known is 100-continue");
  }
  return std::nullopt;
}

void Service::handle(std::shared_ptr<Exchange> exchange) {
  std::string allowed;
  const Route* route = find(exchange->request(), &allowed);
  (this->*route->handler)(exchange);
}

HttpResponse Service::fault(int status, const std::string& message) {
  ApiError e;
  e.status = status;
  e.message = message;
  if (status == 404) e.code = "not_found";
  if (status == 405) e.code = "method_not_allowed";
  if (status == 408) e.code = "request_timeout";
  if (status == 413) e.code = "body_too_large";
  if (status >= 500) e.type = "server_error";
  return error_response(e);
}

void Service::decorate(const HttpRequest& request, HttpResponse& response) {
  if (const std::string* origin = allowed_origin(request)) {
    response.headers.emplace_back("Access-Control-Allow-Origin", *origin);
    response.headers.emplace_back("Vary", "Origin");
  }
  response.headers.emplace_back("X-Request-Id", std::to_string(request.id));
}

void Service::answered(const HttpRequest& request, int status, double seconds) {
  metrics_.answered(status);
  if (!options_.log_requests) return;
  log_line("%s %.16s %.200s %d %.3f s", request.peer.c_str(), request.method.c_str(), request.target.c_str(), status,
           seconds);
}

}  // namespace toccata::server
