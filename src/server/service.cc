#include "server/service.h"

#include <algorithm>

#include <boost/json.hpp>

#include "server/openai/common_fields.h"

namespace toccata::server {
namespace json = boost::json;

namespace {

constexpr size_t kMostQueuedBytes = 64 << 20;  // of bodies that wait for being parsed

HttpResponse json_response(const json::value& value) {
  HttpResponse response;
  response.body = json::serialize(value);
  return response;
}

json::object model_object(const TextSide& text, const std::string& name, const Engine* engine) {
  json::object o{{"id", name}, {"object", "model"}, {"created", text.created}, {"owned_by", "toccata"}};
  if (engine != nullptr) o["max_model_len"] = engine->info().context;
  return o;
}

}  // namespace

Service::Service(ServiceOptions options, TextSide text)
    : options_(std::move(options)), keys_(options_.api_keys), text_(std::move(text)), worker_(kMostQueuedBytes) {}

Service::~Service() { stop(); }

void Service::set_engine(Engine& engine) { engine_ = &engine; }

void Service::drain() {
  draining_ = true;
  if (Engine* engine = engine_) engine->drain();
}

void Service::abort_all() {
  const std::lock_guard lock(running_mutex_);
  for (const auto& weak : running_) {
    const std::shared_ptr<Generation> g = weak.lock();
    if (!g) continue;
    g->exchange()->post([g] { g->abort(unavailable_error("the server is shutting down", "draining")); });
  }
}

void Service::health(const std::shared_ptr<Exchange>& e) {
  if (engine_ == nullptr) return e->respond(error_response(*not_ready()));
  e->respond(json_response(json::object{{"status", "ok"}}));
}

void Service::ready(const std::shared_ptr<Exchange>& e) {
  if (const std::optional<ApiError> error = not_ready()) return e->respond(error_response(*error));
  e->respond(json_response(json::object{{"status", "ready"}}));
}

void Service::version(const std::shared_ptr<Exchange>& e) {
  e->respond(json_response(json::object{{"version", options_.version}}));
}

void Service::openapi(const std::shared_ptr<Exchange>& e) {
  HttpResponse response;
  response.body = openapi_document(options_.version, keys_.needed());
  e->respond(std::move(response));
}

void Service::metrics(const std::shared_ptr<Exchange>& e) {
  Metrics::Gauges gauges;
  const Engine* engine = engine_;
  gauges.ready = engine != nullptr && !draining_;
  if (engine != nullptr) gauges.stats = engine->stats();
  if (http_ != nullptr) {
    gauges.connections = http_->connections();
    gauges.exchanges = http_->exchanges() - 1;  // this one
  }
  HttpResponse response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = metrics_.text(text_.names.front(), gauges);
  e->respond(std::move(response));
}

void Service::models(const std::shared_ptr<Exchange>& e) {
  json::array list;
  for (const std::string& name : text_.names) list.push_back(model_object(text_, name, engine_));
  e->respond(json_response(json::object{{"object", "list"}, {"data", std::move(list)}}));
}

void Service::model(const std::shared_ptr<Exchange>& e) {
  const std::string name = e->request().path.substr(std::string_view("/v1/models/").size());
  if (std::find(text_.names.begin(), text_.names.end(), name) != text_.names.end()) {
    return e->respond(json_response(model_object(text_, name, engine_)));
  }
  const json::object asked{{"model", json::value(name)}};
  JsonFields fields(asked);
  e->respond(error_response(served_model(fields, text_).error()));
}

ApiLimits Service::limits() const {
  const ModelInfo& info = engine_.load()->info();
  ApiLimits limits;
  limits.context = info.context;
  limits.kv = info.kv;
  limits.vocab = info.vocab;
  return limits;
}

void Service::to_worker(const std::shared_ptr<Exchange>& e, std::function<void(const std::string& body)> task) {
  auto body = std::make_shared<std::string>(std::move(e->request().body));
  const size_t bytes = body->size();
  if (!worker_.post(bytes, [body, task = std::move(task)] { task(*body); })) {
    e->respond(error_response(queue_full_error("too many large requests wait: try again")));
  }
}

void Service::read_on_worker(const std::shared_ptr<Exchange>& e, Reader read) {
  to_worker(e, [this, e, read](const std::string& body) {
    ApiResult<std::string> answer = tl::unexpected(ApiError{});
    const ApiResult<json::object> object = parse_body(body);
    if (object)
      answer = read(*object, text_, limits());
    else
      answer = tl::unexpected(object.error());
    e->post([e, answer = std::move(answer)] {
      HttpResponse response;
      if (answer) response.body = *answer;
      e->respond(answer ? std::move(response) : error_response(answer.error()));
    });
  });
}

void Service::tokenize(const std::shared_ptr<Exchange>& e) { read_on_worker(e, &tokenize_body); }
void Service::detokenize(const std::shared_ptr<Exchange>& e) { read_on_worker(e, &detokenize_body); }
void Service::completions(const std::shared_ptr<Exchange>& e) { generate(e, &parse_completion); }
void Service::chat_completions(const std::shared_ptr<Exchange>& e) { generate(e, &parse_chat); }

void Service::generate(const std::shared_ptr<Exchange>& e, Parser parse) {
  to_worker(e, [this, e, parse](const std::string& body) {
    auto request = std::make_shared<ApiResult<ApiRequest>>(tl::unexpected(ApiError{}));
    if (const ApiResult<json::object> object = parse_body(body))
      *request = parse(*object, text_, limits());
    else
      *request = tl::unexpected(object.error());
    e->post([this, e, request] { start(e, std::move(*request)); });
  });
}

void Service::start(const std::shared_ptr<Exchange>& e, ApiResult<ApiRequest> request) {
  if (e->closed()) return;
  if (!request) return e->respond(error_response(request.error()));
  if (const std::optional<ApiError> error = not_ready()) return e->respond(error_response(*error));
  const auto generation = std::make_shared<Generation>(e, std::move(*request), *engine_, text_, metrics_);
  {
    const std::lock_guard lock(running_mutex_);
    std::erase_if(running_, [](const auto& g) { return g.expired(); });
    running_.push_back(generation);
  }
  generation->start();
}

}  // namespace toccata::server
