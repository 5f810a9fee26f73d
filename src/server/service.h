// The API: routes, keys, limits, and what each endpoint answers. Works without an engine (503) until one is set.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/auth.h"
#include "server/generation.h"
#include "server/http/http_server.h"
#include "server/worker.h"

namespace toccata::server {

struct ServiceOptions {
  std::vector<std::string> api_keys;      // none: open to all
  std::vector<std::string> cors_origins;  // "*": any
  bool metrics = true;                    // /metrics and /debug/steps
  bool webui = true;                      // the web page at /
  bool log_requests = false;
  std::string version;
};

class Service final : public HttpHandler {
 public:
  Service(ServiceOptions options, TextSide text);
  ~Service() override;

  // From now on requests are admitted. The engine must outlive all exchanges.
  void set_engine(Engine& engine);
  // For the gauges.
  void set_http(const HttpServer* http) { http_ = http; }
  // Admits no more; /ready says so.
  void drain();
  // Ends every request that still runs, with an error that says why.
  void abort_all();
  // Ends the worker thread; no request is parsed any more.
  void stop() { worker_.stop(); }

  std::optional<HttpResponse> check_head(const HttpRequest& request) override;
  void handle(std::shared_ptr<Exchange> exchange) override;
  HttpResponse fault(int status, const std::string& message) override;
  void decorate(const HttpRequest& request, HttpResponse& response) override;
  void answered(const HttpRequest& request, int status, double seconds) override;

  const TextSide& text() const { return text_; }

 private:
  using Handler = void (Service::*)(const std::shared_ptr<Exchange>&);
  struct Route {
    const char* method;
    const char* path;  // with a '*' at its end: a prefix
    Handler handler;
    bool needs_key, needs_engine;
  };
  static const Route kRoutes[];
  bool offered(const Route& route) const;
  const Route* find(const HttpRequest& request, std::string* allowed) const;
  const std::string* allowed_origin(const HttpRequest& request) const;
  std::optional<HttpResponse> preflight(const HttpRequest& request, const std::string& allowed) const;
  std::optional<ApiError> not_ready() const;

  void page(const std::shared_ptr<Exchange>& e);
  void health(const std::shared_ptr<Exchange>& e);
  void ready(const std::shared_ptr<Exchange>& e);
  void version(const std::shared_ptr<Exchange>& e);
  void metrics(const std::shared_ptr<Exchange>& e);
  void steps(const std::shared_ptr<Exchange>& e);
  void openapi(const std::shared_ptr<Exchange>& e);
  void models(const std::shared_ptr<Exchange>& e);
  void model(const std::shared_ptr<Exchange>& e);
  void completions(const std::shared_ptr<Exchange>& e);
  void chat_completions(const std::shared_ptr<Exchange>& e);
  void tokenize(const std::shared_ptr<Exchange>& e);
  void detokenize(const std::shared_ptr<Exchange>& e);

  // Parses the body on the worker's thread and answers with what `read` makes of it.
  using Reader = ApiResult<std::string> (*)(const boost::json::object& body, const TextSide& text,
                                            const ApiLimits& limits);
  void read_on_worker(const std::shared_ptr<Exchange>& e, Reader read);
  using Parser = decltype(&parse_chat);
  void generate(const std::shared_ptr<Exchange>& e, Parser parse);
  void start(const std::shared_ptr<Exchange>& e, ApiResult<ApiRequest> request);
  void to_worker(const std::shared_ptr<Exchange>& e, std::function<void(const std::string& body)> task);
  ApiLimits limits() const;

  const ServiceOptions options_;
  const ApiKeys keys_;
  TextSide text_;
  Metrics metrics_;
  std::atomic<Engine*> engine_ = nullptr;
  std::atomic<bool> draining_ = false;
  const HttpServer* http_ = nullptr;
  std::mutex running_mutex_;
  std::vector<std::weak_ptr<Generation>> running_;
  Worker worker_;
};

// /tokenize and /detokenize: the answer's body.
ApiResult<std::string> tokenize_body(const boost::json::object& body, const TextSide& text, const ApiLimits& limits);
ApiResult<std::string> detokenize_body(const boost::json::object& body, const TextSide& text, const ApiLimits& limits);

// The OpenAPI description, a JSON text.
std::string openapi_document(const std::string& version, bool needs_key);

}  // namespace toccata::server
