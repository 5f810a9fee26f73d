// Stand-ins for tests: a model's text side, an engine that says what the test tells it to, and a client.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/http/exchange.h"
#include "server/text_side.h"
#include "text/tokenizer/test_vocab.h"
#include "toccata/engine.h"

namespace toccata::server {

// Tokens 0 to 255 are the bytes; then the control tokens <|im_start|>, <|im_end|> (the end token) and [TOOL_CALLS].
inline TextSide test_text(const std::string& chat_template) {
  TestVocab v = TestVocab::byte_level();
  v.add("<|im_start|>", TokenType::kControl);
  v.add("<|im_end|>", TokenType::kControl);
  v.add("[TOOL_CALLS]", TokenType::kControl);
  TextSide text;
  text.tokenizer = v.build();
  text.names = {"tiny", "alias"};
  if (chat_template.empty()) return text;
  Result<ChatPrompts> chat = ChatPrompts::create(*text.tokenizer, chat_template);
  if (chat) text.chat.emplace(std::move(*chat));
  return text;
}

inline constexpr const char* kChatMl =
    "{% if tools %}<tool_call>{{ tools | tojson }}{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{{ m.content }}<|im_end|>{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

// Requests are kept until the test says what becomes of them. Thread-safe.
class FakeEngine final : public Engine {
 public:
  FakeEngine() { info_ = {"tiny", "llama", 200, 259, 200, 1 << 20, {}}; }

  Result<RequestId> submit(Request request, std::shared_ptr<RequestListener> listener) override {
    const std::lock_guard lock(mutex_);
    if (stats_.draining) return fail(ErrorCode::kUnavailable, "draining");
    if (static_cast<int64_t>(listeners_.size()) >= room)
      return fail(ErrorCode::kResourceExhausted, "the queue is full");
    requests.push_back(std::move(request));
    listeners_[requests.size()] = std::move(listener);
    return requests.size();
  }
  void cancel(RequestId id) override {
    const std::lock_guard lock(mutex_);
    cancelled.push_back(id);
  }
  const ModelInfo& info() const override { return info_; }
  int64_t context_of(const Request& r) const override { return r.kv && r.kv->evicts() ? 1 << 20 : info_.context; }
  EngineStats stats() const override {
    const std::lock_guard lock(mutex_);
    EngineStats s = stats_;
    s.running = static_cast<int64_t>(listeners_.size());
    return s;
  }
  RecentSteps steps(uint64_t) const override { return {}; }
  void drain() override {
    const std::lock_guard lock(mutex_);
    stats_.draining = true;
  }

  // One token per byte of `text`; its alternatives are itself and '?'.
  void say(RequestId id, const std::string& text) {
    for (const char c : text) {
      const auto token = static_cast<int32_t>(static_cast<unsigned char>(c));
      listener(id)->on_tokens({{token, -0.5f, {{token, -0.5f}, {'?', -1.5f}}}}, std::string(1, c));
    }
    said_[id] += static_cast<int64_t>(text.size());
  }
  void finish(RequestId id, FinishReason reason) {
    RequestReport report;
    report.prompt_tokens = static_cast<int64_t>(requests[id - 1].prompt.size());
    report.generated_tokens = said_[id];
    report.cached_tokens = 3;
    report.drafted_tokens = 9;
    report.accepted_tokens = 4;
    report.error.message = "it broke";
    listener(id)->on_finish(reason, report);
    const std::lock_guard lock(mutex_);
    listeners_.erase(id);
  }
  std::shared_ptr<RequestListener> listener(RequestId id) {
    const std::lock_guard lock(mutex_);
    return listeners_.at(id);
  }
  size_t submitted() const {
    const std::lock_guard lock(mutex_);
    return requests.size();
  }
  size_t cancels() const {
    const std::lock_guard lock(mutex_);
    return cancelled.size();
  }

  int64_t room = 100;
  std::vector<Request> requests;  // id 1 is the first
  std::vector<RequestId> cancelled;

 private:
  mutable std::mutex mutex_;
  ModelInfo info_;
  EngineStats stats_;
  std::map<RequestId, std::shared_ptr<RequestListener>> listeners_;
  std::map<RequestId, int64_t> said_;
};

class FakeExchange final : public Exchange {
 public:
  HttpRequest& request() override { return request_; }
  void post(std::function<void()> task) override { tasks.push_back(std::move(task)); }
  void respond(HttpResponse r) override {
    if (closed_) return;
    response = std::move(r);
    end_stream();
  }
  void begin_stream(HttpResponse head) override { response = std::move(head); }
  void write(std::string_view bytes) override { response.body += bytes; }
  void end_stream() override {
    closed_ = true;
    on_close_ = nullptr;
  }
  void set_ping(std::string) override {}
  void on_close(std::function<void()> callback) override { on_close_ = std::move(callback); }
  bool closed() const override { return closed_; }

  void run() {
    while (!tasks.empty()) {
      const std::function<void()> task = std::move(tasks.front());
      tasks.pop_front();
      task();
    }
  }
  void leave() {  // the client
    closed_ = true;
    const std::function<void()> callback = std::move(on_close_);
    on_close_ = nullptr;
    if (callback) callback();
  }

  HttpResponse response;
  std::deque<std::function<void()>> tasks;

 private:
  HttpRequest request_;
  std::function<void()> on_close_;
  bool closed_ = false;
};

}  // namespace toccata::server
