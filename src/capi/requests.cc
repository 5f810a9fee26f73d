#include "capi/requests.h"

#include <chrono>
#include <utility>

namespace toccata::capi {
namespace {

Event make(toccata_event_kind kind, std::string text) {
  Event event;
  toccata_event_init(&event.fields, sizeof event.fields);
  event.fields.kind = kind;
  event.text = std::move(text);
  return event;
}

toccata_finish finish_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return TOCCATA_FINISH_STOP;
    case FinishReason::kLength:
      return TOCCATA_FINISH_LENGTH;
    case FinishReason::kCancelled:
      return TOCCATA_FINISH_CANCELLED;
    case FinishReason::kTimeout:
      return TOCCATA_FINISH_TIMEOUT;
    case FinishReason::kError:
      break;
  }
  return TOCCATA_FINISH_ERROR;
}

}  // namespace

// The text of several tokens is complete with the last of them.
void Events::on_tokens(std::vector<TokenOutput> tokens, std::string text) {
  if (tokens.empty()) return send(make(TOCCATA_EVENT_TEXT, std::move(text)));
  for (size_t i = 0; i < tokens.size(); ++i) {
    Event event = make(TOCCATA_EVENT_TOKEN, i + 1 == tokens.size() ? std::move(text) : std::string());
    event.fields.token = tokens[i].token;
    event.fields.logprob = tokens[i].logprob;
    send(std::move(event));
  }
}

void Events::on_finish(FinishReason reason, const RequestReport& report) {
  Event event = make(TOCCATA_EVENT_FINISH, reason == FinishReason::kError ? report.error.message : std::string());
  event.fields.finish = finish_of(reason);
  event.fields.prompt_tokens = report.prompt_tokens;
  event.fields.cached_tokens = report.cached_tokens;
  event.fields.generated_tokens = report.generated_tokens;
  event.fields.first_token_seconds = report.first_token_seconds;
  event.fields.total_seconds = report.total_seconds;
  send(std::move(event));
}

void Events::send(Event event) {
  if (callback_) {
    event.fields.text = event.text.c_str();
    event.fields.text_size = event.text.size();
    callback_(user_, &event.fields);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(event));
  }
  arrived_.notify_one();
}

bool Events::next(int64_t timeout_ms, Event& event) {
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return !waiting_.empty(); };
  if (timeout_ms < 0) {
    arrived_.wait(lock, ready);
  } else if (!arrived_.wait_for(lock, std::chrono::milliseconds(timeout_ms), ready)) {
    return false;
  }
  event = std::move(waiting_.front());
  waiting_.pop_front();
  ended_ = event.fields.kind == TOCCATA_EVENT_FINISH;
  return true;
}

bool Events::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

}  // namespace toccata::capi
