// One API request on its way through the engine: submits its choices, follows them, answers, and cancels them when the
// client goes.
#pragma once

#include <memory>
#include <vector>

#include "server/http/exchange.h"
#include "server/metrics.h"
#include "server/openai/answer_writer.h"
#include "server/openai/api_request.h"
#include "toccata/engine.h"

namespace toccata::server {

class Generation : public std::enable_shared_from_this<Generation> {
 public:
  Generation(std::shared_ptr<Exchange> exchange, ApiRequest request, Engine& engine, const TextSide& text,
             Metrics& metrics);

  // All on the exchange's thread.
  void start();
  // Ends it with an error, in the stream if that has begun.
  void abort(const ApiError& error);
  const std::shared_ptr<Exchange>& exchange() const { return exchange_; }

 private:
  class Listener;
  ApiStatus submit_all();
  void begin();
  void send(const std::string& events);
  void on_prompt_logprobs(size_t choice, std::vector<TokenOutput> tokens);
  void on_tokens(size_t choice, std::vector<TokenOutput> tokens, const std::string& text);
  void on_finish(size_t choice, FinishReason reason, const RequestReport& report);
  void complete();
  void cancel();

  std::shared_ptr<Exchange> exchange_;
  const ApiRequest request_;
  Engine& engine_;
  Metrics& metrics_;
  AnswerWriter writer_;
  std::vector<RequestId> ids_;
  size_t running_ = 0;
  bool streaming_ = false;
  bool over_ = false;  // answered or given up: what still comes from the engine is ignored
};

// For what Engine::submit refuses.
ApiError submit_error(const Error& error);

}  // namespace toccata::server
