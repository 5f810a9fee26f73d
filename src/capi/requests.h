// The events of one request on their way to a C program.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "toccata/request.h"
#include "toccata/toccata.h"

namespace toccata::capi {

struct Event {
  toccata_event fields{};
  std::string text;
};

// Calls the program back, or keeps the events until they are polled. At most as many wait as the answer has tokens.
class Events final : public RequestListener {
 public:
  Events(toccata_callback callback, void* user) : callback_(callback), user_(user) {}

  void on_tokens(std::vector<TokenOutput> tokens, std::string text) override;
  void on_finish(FinishReason reason, const RequestReport& report) override;

  bool polled() const { return callback_ == nullptr; }
  // The next event; false after timeout_ms (-1: never). Only while !ended().
  bool next(int64_t timeout_ms, Event& event);
  bool ended() const;  // the last event was taken

 private:
  void send(Event event);

  const toccata_callback callback_;
  void* const user_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Event> waiting_;
  bool ended_ = false;
};

}  // namespace toccata::capi
