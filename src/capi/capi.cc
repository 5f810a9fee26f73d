// The C API on top of toccata/engine.h: arguments are checked and copied here, and nothing is thrown out of here.
#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "capi/requests.h"
#include "capi/structs.h"
#include "format/gguf/gguf.h"
#include "text/tokenizer/tokenizer.h"
#include "toccata/engine.h"
#include "toccata/toccata.h"

namespace toccata::capi {
namespace {

// The engine as requests see it, which may outlive it. They must not own it: the last owner ends the engine's thread,
// and a callback runs in that thread.
class Link {
 public:
  explicit Link(Engine* engine) : engine_(engine) {}
  void cut() {
    const std::lock_guard lock(mutex_);
    engine_ = nullptr;
  }
  void cancel(RequestId id) {
    const std::lock_guard lock(mutex_);
    if (engine_) engine_->cancel(id);
  }

 private:
  std::mutex mutex_;
  Engine* engine_;
};

}  // namespace
}  // namespace toccata::capi

struct toccata_engine {
  std::unique_ptr<toccata::Engine> engine;
  std::unique_ptr<toccata::Tokenizer> tokenizer;
  std::shared_ptr<toccata::capi::Link> link;
};

struct toccata_request {
  std::shared_ptr<toccata::capi::Link> link;
  std::shared_ptr<toccata::capi::Events> events;
  toccata::RequestId id = 0;
  toccata::capi::Event last;  // keeps the text of the event that was polled last
};

namespace toccata::capi {
namespace {

constexpr int64_t kLongestWait = int64_t{1} << 40;  // ms; the clock's arithmetic must not overflow

std::string& last_error() {
  thread_local std::string message;
  return message;
}

toccata_status failed(toccata_status status, std::string message) {
  last_error() = std::move(message);
  return status;
}

toccata_status failed(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
      return failed(TOCCATA_INVALID_ARGUMENT, error.message);
    case ErrorCode::kInvalidFile:
      return failed(TOCCATA_INVALID_FILE, error.message);
    case ErrorCode::kUnsupported:
      return failed(TOCCATA_UNSUPPORTED, error.message);
    case ErrorCode::kNotFound:
      return failed(TOCCATA_NOT_FOUND, error.message);
    case ErrorCode::kResourceExhausted:
      return failed(TOCCATA_EXHAUSTED, error.message);
    case ErrorCode::kUnavailable:
      return failed(TOCCATA_UNAVAILABLE, error.message);
    case ErrorCode::kInternal:
      break;
  }
  return failed(TOCCATA_INTERNAL, error.message);
}

toccata_status null_argument(const char* name) {
  return failed(TOCCATA_INVALID_ARGUMENT, std::string(name) + " is NULL");
}

toccata_status uninitialised(const char* name) {
  return failed(TOCCATA_INVALID_ARGUMENT, std::string(name) +
                                              " is NULL, was not initialised by its _init function, or "
                                              "was compiled for a newer library");
}

// Runs `body`; what the libraries below throw (there is no memory, there are no threads) becomes a status.
template <class Body>
toccata_status guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return failed(TOCCATA_EXHAUSTED, "no memory");  // short: fits without an allocation
  } catch (const std::exception& e) {
    return failed(TOCCATA_INTERNAL, e.what());
  }
}

EngineOptions engine_options(const toccata_engine_options& o) {
  EngineOptions r;
  r.model = o.model;
  r.threads = o.threads;
  r.context = o.context;
  r.kv_memory = o.kv_memory;
  r.cache_type_k = o.cache_type_k;
  r.cache_type_v = o.cache_type_v;
  r.max_sequences = o.max_sequences;
  r.max_waiting = o.max_waiting;
  r.chunk_size = o.chunk_size;
  r.itl_target_ms = o.itl_target_ms;
  r.prefix_caching = o.prefix_caching;
  return r;
}

Request request_of(const toccata_request_options& o) {
  Request r;
  r.prompt.assign(o.prompt, o.prompt + o.prompt_tokens);
  r.max_tokens = o.max_tokens;
  for (size_t i = 0; i < o.stops; ++i) r.stop.emplace_back(o.stop[i]);
  r.ignore_eos = o.ignore_eos;
  r.sampling.temperature = o.temperature;
  r.sampling.top_k = o.top_k;
  r.sampling.top_p = o.top_p;
  r.sampling.min_p = o.min_p;
  r.sampling.repetition_penalty = o.repetition_penalty;
  r.sampling.presence_penalty = o.presence_penalty;
  r.sampling.frequency_penalty = o.frequency_penalty;
  r.sampling.seed = o.seed;
  r.sampling.logprobs = o.logprobs ? 0 : -1;
  r.priority = o.priority;
  r.timeout_seconds = o.timeout_seconds;
  if (o.cache_salt) r.cache_salt = o.cache_salt;
  return r;
}

toccata_status check_pointers(const toccata_request_options& o) {
  if (o.prompt == nullptr && o.prompt_tokens > 0) return null_argument("prompt");
  if (o.stop == nullptr && o.stops > 0) return null_argument("stop");
  for (size_t i = 0; i < o.stops; ++i) {
    if (o.stop[i] == nullptr) return null_argument("a string of stop");
  }
  return TOCCATA_OK;
}

toccata_status start(const toccata_engine_options* options, toccata_engine** engine) {
  toccata_engine_options defaults, o;
  toccata_engine_options_init(&defaults, sizeof defaults);
  if (!read_struct(options, defaults, o)) return uninitialised("options");
  if (engine == nullptr) return null_argument("engine");
  if (o.model == nullptr) return null_argument("model");
  if (o.cache_type_k == nullptr || o.cache_type_v == nullptr) return null_argument("cache_type");
  auto handle = std::make_unique<toccata_engine>();
  Result<std::shared_ptr<const gguf::File>> file = gguf::File::open(o.model);
  if (!file) return failed(file.error());
  Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::from_gguf(**file);
  if (!tokenizer) return failed(tokenizer.error());
  file->reset();
  Result<std::unique_ptr<Engine>> started = Engine::start(engine_options(o));
  if (!started) return failed(started.error());
  handle->tokenizer = std::move(*tokenizer);
  handle->engine = std::move(*started);
  handle->link = std::make_shared<Link>(handle->engine.get());
  *engine = handle.release();
  return TOCCATA_OK;
}

toccata_status submit(toccata_engine* engine, const toccata_request_options* options, toccata_callback callback,
                      void* user, toccata_request** request) {
  toccata_request_options defaults, o;
  toccata_request_options_init(&defaults, sizeof defaults);
  if (engine == nullptr) return null_argument("engine");
  if (!read_struct(options, defaults, o)) return uninitialised("options");
  if (request == nullptr) return null_argument("request");
  if (const toccata_status s = check_pointers(o); s != TOCCATA_OK) return s;
  auto handle = std::make_unique<toccata_request>();
  handle->link = engine->link;
  handle->events = std::make_shared<Events>(callback, user);
  const Result<RequestId> id = engine->engine->submit(request_of(o), handle->events);
  if (!id) return failed(id.error());
  handle->id = *id;
  *request = handle.release();
  return TOCCATA_OK;
}

toccata_status poll(toccata_request* request, int64_t timeout_ms, toccata_event* event) {
  if (request == nullptr) return null_argument("request");
  if (event == nullptr || !plausible(*event)) return uninitialised("event");
  if (!request->events->polled()) return failed(TOCCATA_INVALID_ARGUMENT, "the request has a callback");
  if (request->events->ended()) return failed(TOCCATA_INVALID_ARGUMENT, "the request has finished");
  if (!request->events->next(std::min(timeout_ms, kLongestWait), request->last)) return TOCCATA_TIMED_OUT;
  toccata_event& fields = request->last.fields;
  fields.text = request->last.text.c_str();
  fields.text_size = request->last.text.size();
  init_struct(fields, event, event->struct_size);
  return TOCCATA_OK;
}

toccata_status tokenize(const toccata_engine* engine, const char* text, size_t size, bool add_special, int32_t* tokens,
                        size_t capacity, size_t* count) {
  if (engine == nullptr) return null_argument("engine");
  if (text == nullptr && size > 0) return null_argument("text");
  if (tokens == nullptr && capacity > 0) return null_argument("tokens");
  if (count == nullptr) return null_argument("count");
  const std::vector<TokenId> ids =
      engine->tokenizer->encode({text, size}, {.parse_special = true, .add_special = add_special});
  std::copy_n(ids.begin(), std::min(ids.size(), capacity), tokens);
  *count = ids.size();
  return TOCCATA_OK;
}

}  // namespace
}  // namespace toccata::capi

extern "C" {

const char* toccata_version(void) { return TOCCATA_VERSION; }

const char* toccata_error(void) { return toccata::capi::last_error().c_str(); }

void toccata_engine_options_init(toccata_engine_options* options, size_t struct_size) {
  const toccata::EngineOptions d;
  toccata_engine_options o = {};
  o.cache_type_k = o.cache_type_v = "f16";
  o.max_sequences = d.max_sequences;
  o.max_waiting = d.max_waiting;
  o.prefix_caching = d.prefix_caching;
  toccata::capi::init_struct(o, options, struct_size);
}

void toccata_request_options_init(toccata_request_options* options, size_t struct_size) {
  const toccata::SamplingParams d;
  toccata_request_options o = {};
  o.max_tokens = -1;
  o.temperature = d.temperature;
  o.top_k = d.top_k;
  o.top_p = d.top_p;
  o.min_p = d.min_p;
  o.repetition_penalty = d.repetition_penalty;
  toccata::capi::init_struct(o, options, struct_size);
}

void toccata_event_init(toccata_event* event, size_t struct_size) {
  toccata_event e = {};
  e.token = -1;
  e.text = "";
  toccata::capi::init_struct(e, event, struct_size);
}

toccata_status toccata_engine_start(const toccata_engine_options* options, toccata_engine** engine) {
  return toccata::capi::guarded([&] { return toccata::capi::start(options, engine); });
}

void toccata_engine_free(toccata_engine* engine) {
  if (engine == nullptr) return;
  engine->link->cut();
  delete engine;
}

int64_t toccata_context(const toccata_engine* engine) { return engine->engine->info().context; }

int32_t toccata_vocabulary(const toccata_engine* engine) { return engine->engine->info().vocab; }

toccata_status toccata_tokenize(const toccata_engine* engine, const char* text, size_t size, bool add_special,
                                int32_t* tokens, size_t capacity, size_t* count) {
  return toccata::capi::guarded(
      [&] { return toccata::capi::tokenize(engine, text, size, add_special, tokens, capacity, count); });
}

toccata_status toccata_submit(toccata_engine* engine, const toccata_request_options* options, toccata_callback callback,
                              void* user, toccata_request** request) {
  return toccata::capi::guarded([&] { return toccata::capi::submit(engine, options, callback, user, request); });
}

toccata_status toccata_poll(toccata_request* request, int64_t timeout_ms, toccata_event* event) {
  return toccata::capi::guarded([&] { return toccata::capi::poll(request, timeout_ms, event); });
}

void toccata_cancel(toccata_request* request) { request->link->cancel(request->id); }

void toccata_request_free(toccata_request* request) {
  if (request == nullptr) return;
  toccata_cancel(request);
  delete request;
}

}  // extern "C"
