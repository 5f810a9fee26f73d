#include "server/generation.h"

#include "base/clock.h"

namespace toccata::server {

// Called on the engine's thread: takes the times, and hands everything else to the exchange's thread.
class Generation::Listener final : public RequestListener {
 public:
  Listener(std::shared_ptr<Generation> generation, size_t choice)
      : generation_(std::move(generation)),
        choice_(choice),
        metrics_(generation_->metrics_),
        begin_(monotonic_seconds()) {}

  void on_prompt_logprobs(std::vector<TokenOutput> tokens) override {
    post([choice = choice_, tokens = std::move(tokens)](Generation& g) mutable {
      g.on_prompt_logprobs(choice, std::move(tokens));
    });
  }
  void on_tokens(std::vector<TokenOutput> tokens, std::string text) override {
    const double now = monotonic_seconds();
    if (!tokens.empty()) {
      if (last_ == 0)
        metrics_.first_tokens(tokens.size(), now - begin_);
      else
        metrics_.more_tokens(tokens.size(), now - last_);
      last_ = now;
    }
    post([choice = choice_, tokens = std::move(tokens), text = std::move(text)](Generation& g) mutable {
      g.on_tokens(choice, std::move(tokens), text);
    });
  }
  void on_finish(FinishReason reason, const RequestReport& report) override {
    metrics_.finished(reason, report);
    post([choice = choice_, reason, report](Generation& g) { g.on_finish(choice, reason, report); });
    generation_.reset();
  }

 private:
  template <class F>
  void post(F call) {
    const std::shared_ptr<Generation> g = generation_;
    g->exchange_->post([g, call = std::move(call)]() mutable {
      if (!g->over_) call(*g);
    });
  }

  std::shared_ptr<Generation> generation_;
  const size_t choice_;
  Metrics& metrics_;
  const double begin_;
  double last_ = 0;
};

ApiError submit_error(const Error& error) {
  switch (error.code) {
    case ErrorCode::kResourceExhausted:
      return queue_full_error(error.message);
    case ErrorCode::kUnavailable:
      return unavailable_error(error.message, "draining");
    case ErrorCode::kInvalidArgument:
      return bad_param("", error.message);
    default:
      return internal_error(error.message);
  }
}

Generation::Generation(std::shared_ptr<Exchange> exchange, ApiRequest request, Engine& engine, const TextSide& text,
                       Metrics& metrics)
    : exchange_(std::move(exchange)),
      request_(std::move(request)),
      engine_(engine),
      metrics_(metrics),
      writer_(request_, text) {}

void Generation::start() {
  if (exchange_->closed()) return;
  if (const ApiStatus submitted = submit_all(); !submitted) {
    cancel();
    exchange_->respond(error_response(submitted.error()));
    return;
  }
  exchange_->on_close([self = shared_from_this()] { self->cancel(); });
  begin();
}

ApiStatus Generation::submit_all() {
  for (const Request& r : request_.prompts) {
    const int64_t context = engine_.context_of(r);
    const auto size = static_cast<int64_t>(r.prompt.size());
    if (size >= context) return tl::unexpected(context_length_error(size, context));
  }
  for (int64_t i = 0; i < request_.choices(); ++i) {
    const Result<RequestId> id =
        engine_.submit(request_.request(i), std::make_shared<Listener>(shared_from_this(), static_cast<size_t>(i)));
    if (!id) return tl::unexpected(submit_error(id.error()));
    ids_.push_back(*id);
  }
  running_ = ids_.size();
  return {};
}

void Generation::begin() {
  if (!request_.stream) return;
  HttpResponse head;
  head.content_type = "text/event-stream; charset=utf-8";
  head.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
  streaming_ = true;
  exchange_->set_ping(": ping\n\n");
  exchange_->begin_stream(std::move(head));
  send(writer_.begin());
}

void Generation::send(const std::string& events) {
  if (!events.empty()) exchange_->write(events);
}

void Generation::on_prompt_logprobs(size_t choice, std::vector<TokenOutput> tokens) {
  send(writer_.prompt_logprobs(choice, std::move(tokens)));
}

void Generation::on_tokens(size_t choice, std::vector<TokenOutput> tokens, const std::string& text) {
  send(writer_.tokens(choice, std::move(tokens), text));
}

void Generation::on_finish(size_t choice, FinishReason reason, const RequestReport& report) {
  if (reason == FinishReason::kError) return abort(internal_error("the engine failed: " + report.error.message));
  if (reason == FinishReason::kCancelled) return abort(unavailable_error("the server is shutting down", "draining"));
  send(writer_.finish(choice, reason, report));
  if (--running_ == 0 && !over_) complete();
}

void Generation::complete() {
  over_ = true;
  if (streaming_) {
    send(writer_.end());
    exchange_->end_stream();
    return;
  }
  HttpResponse response;
  response.body = writer_.body();
  exchange_->respond(std::move(response));
}

void Generation::abort(const ApiError& error) {
  if (over_) return;
  cancel();
  if (!streaming_) return exchange_->respond(error_response(error));
  send(AnswerWriter::error_events(error_json(error)));
  exchange_->end_stream();
}

void Generation::cancel() {
  over_ = true;
  for (const RequestId id : ids_) engine_.cancel(id);
}

}  // namespace toccata::server
