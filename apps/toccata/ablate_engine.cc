#include "ablate_engine.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/clock.h"
#include "interrupt.h"

namespace toccata::cli {
namespace {

// What the engine's thread and the waiting one share.
struct Board {
  std::mutex mutex;
  std::condition_variable changed;
};

class Collector final : public RequestListener {
 public:
  explicit Collector(Board& board) : board_(board) {}

  void on_tokens(std::vector<TokenOutput> tokens, std::string) override {
    const double now = monotonic_seconds();
    const std::lock_guard lock(board_.mutex);
    for (const TokenOutput& t : tokens) {
      answer.arrivals.push_back(now);
      answer.tokens.push_back(t.token);
    }
    board_.changed.notify_all();
  }
  void on_finish(FinishReason, const RequestReport& report) override {
    const std::lock_guard lock(board_.mutex);
    answer.report = report;
    finished = true;
    board_.changed.notify_all();
  }

  EngineAnswer answer;
  bool finished = false;

 private:
  Board& board_;
};

class Conductor {
 public:
  explicit Conductor(Engine& engine) : engine_(engine) {}

  Status submit(Request request) {
    auto collector = std::make_shared<Collector>(board_);
    collector->answer.submitted = monotonic_seconds();
    const Result<RequestId> id = engine_.submit(std::move(request), collector);
    if (!id) return tl::unexpected(id.error());
    ids_.push_back(*id);
    collectors_.push_back(std::move(collector));
    return {};
  }

  // Until each request has ended, or has so many tokens.
  void wait(int64_t tokens) {
    std::unique_lock lock(board_.mutex);
    const auto all = [&] {
      for (const auto& c : collectors_) {
        if (!c->finished && std::ssize(c->answer.tokens) < tokens) return false;
      }
      return true;
    };
    bool cancelled = false;
    while (!board_.changed.wait_for(lock, std::chrono::milliseconds(100), all)) {
      if (!interrupted() || cancelled) continue;
      cancelled = true;
      for (const RequestId id : ids_) engine_.cancel(id);
    }
  }

  Result<std::vector<EngineAnswer>> take() {
    std::vector<EngineAnswer> answers;
    for (const auto& c : collectors_) {
      if (!c->answer.report.error.message.empty()) return tl::unexpected(c->answer.report.error);
      answers.push_back(std::move(c->answer));
    }
    return answers;
  }

 private:
  Engine& engine_;
  Board board_;
  std::vector<std::shared_ptr<Collector>> collectors_;
  std::vector<RequestId> ids_;
};

}  // namespace

std::vector<double> EngineAnswer::gaps_ms() const {
  std::vector<double> gaps;
  for (size_t i = 1; i < arrivals.size(); ++i) gaps.push_back((arrivals[i] - arrivals[i - 1]) * 1e3);
  return gaps;
}

Result<std::vector<EngineAnswer>> answers_of(Engine& engine, std::vector<Request> requests, Request last,
                                             int64_t after) {
  Conductor conductor(engine);
  Status status;
  for (Request& r : requests) {
    if (status) status = conductor.submit(std::move(r));
  }
  if (status && !last.prompt.empty()) {
    conductor.wait(after);
    status = conductor.submit(std::move(last));
  }
  conductor.wait(INT64_MAX);  // also after a refusal: the listeners refer to the conductor
  if (!status) return tl::unexpected(status.error());
  return conductor.take();
}

}  // namespace toccata::cli
