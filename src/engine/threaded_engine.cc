#include "engine/threaded_engine.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/step_ring.h"

namespace toccata::engine {
namespace {

constexpr size_t kKeptSteps = 1024;

class ThreadedEngine final : public Engine {
 public:
  ThreadedEngine(std::unique_ptr<Core> core, const QueueLimits& limits) : core_(std::move(core)), limits_(limits) {
    core_->fill(stats_);
    thread_ = std::thread([this] { work(); });
  }

  ~ThreadedEngine() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = draining_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  Result<RequestId> submit(Request request, std::shared_ptr<RequestListener> listener) override {
    if (Status s = core_->check(request); !s) return tl::unexpected(s.error());
    const int64_t tokens = static_cast<int64_t>(request.prompt.size());
    const std::lock_guard lock(mutex_);
    if (draining_) return fail(ErrorCode::kUnavailable, "the engine is shutting down");
    if (static_cast<int64_t>(queued_.size()) >= limits_.requests) {
      return fail(ErrorCode::kResourceExhausted,
                  "the queue is full: " + std::to_string(queued_.size()) + " requests wait");
    }
    if (queued_tokens_ + tokens > limits_.tokens && !queued_.empty()) {
      return fail(ErrorCode::kResourceExhausted,
                  "the queue is full: prompts of " + std::to_string(queued_tokens_) + " tokens wait");
    }
    const RequestId id = ++last_id_;
    queued_.emplace(id, tokens);
    queued_tokens_ += tokens;
    inbox_.arrivals.push_back({id, std::move(request), std::move(listener), core_->now()});
    wake_.notify_one();
    return id;
  }

  void cancel(RequestId id) override {
    const std::lock_guard lock(mutex_);
    inbox_.cancelled.push_back(id);
    wake_.notify_one();
  }

  const ModelInfo& info() const override { return core_->info(); }
  int64_t context_of(const Request& request) const override { return core_->context_of(request); }

  EngineStats stats() const override {
    const std::lock_guard lock(mutex_);
    EngineStats s = stats_;
    s.waiting += static_cast<int64_t>(inbox_.arrivals.size()) + in_hand_;
    s.waiting_tokens = queued_tokens_;
    s.draining = draining_;
    return s;
  }

  RecentSteps steps(uint64_t after) const override {
    const std::lock_guard lock(mutex_);
    return {core_->now(), steps_.after(after)};
  }

  void drain() override {
    const std::lock_guard lock(mutex_);
    draining_ = true;
  }

 private:
  struct Arrival {
    RequestId id;
    Request request;
    std::shared_ptr<RequestListener> listener;
    double time;
  };
  struct Inbox {
    std::vector<Arrival> arrivals;
    std::vector<RequestId> cancelled;
    bool empty() const { return arrivals.empty() && cancelled.empty(); }
  };

  void work() {
    Inbox taken;
    while (take(taken)) {
      for (Arrival& a : taken.arrivals) core_->add(a.id, std::move(a.request), std::move(a.listener), a.time);
      for (RequestId id : taken.cancelled) core_->cancel(id);
      taken.arrivals.clear();
      taken.cancelled.clear();
      core_->plan();
      publish();  // gauges hold during a long step, too
      core_->run();
      publish();
    }
    for (Arrival& a : taken.arrivals) core_->add(a.id, std::move(a.request), std::move(a.listener), a.time);
    core_->cancel_all();
    publish();
  }

  // Waits for something to do. False: the engine is to stop.
  bool take(Inbox& taken) {
    std::unique_lock lock(mutex_);
    if (core_->idle()) wake_.wait(lock, [this] { return stop_ || !inbox_.empty(); });
    std::swap(taken, inbox_);
    in_hand_ = std::ssize(taken.arrivals);
    return !stop_;
  }

  void publish() {
    const std::lock_guard lock(mutex_);
    for (RequestId id : core_->left_queue()) {
      const auto found = queued_.find(id);
      if (found == queued_.end()) continue;
      queued_tokens_ -= found->second;
      queued_.erase(found);
    }
    const uint64_t steps = stats_.steps;
    core_->fill(stats_);
    if (stats_.steps != steps) steps_.add(core_->latest_step());
    in_hand_ = 0;
  }

  const std::unique_ptr<Core> core_;
  const QueueLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  // All below: under mutex_.
  Inbox inbox_;
  int64_t in_hand_ = 0;  // arrivals that were taken from the inbox, but are not in stats_ yet
  bool stop_ = false, draining_ = false;
  RequestId last_id_ = 0;
  std::unordered_map<RequestId, int64_t> queued_;  // submitted and not begun; tokens of the prompt
  int64_t queued_tokens_ = 0;
  EngineStats stats_;
  StepRing steps_{kKeptSteps};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace

std::unique_ptr<Engine> start_engine(std::unique_ptr<Core> core, const QueueLimits& limits) {
  return std::make_unique<ThreadedEngine>(std::move(core), limits);
}

}  // namespace toccata::engine
