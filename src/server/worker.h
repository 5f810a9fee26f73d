// A thread beside those of the connections for what may take long: parsing, rendering and tokenising large requests.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace toccata::server {

class Worker {
 public:
  explicit Worker(size_t max_bytes) : max_bytes_(max_bytes), thread_([this] { run(); }) {}
  ~Worker() { stop(); }

  // bytes: of the request; false when that many do not fit into the queue any more (an empty queue takes any one).
  bool post(size_t bytes, std::function<void()> task);
  void stop();  // drops what waits, and waits for what runs

 private:
  void run();

  const size_t max_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<size_t, std::function<void()>>> tasks_;
  size_t bytes_ = 0;  // of those in the queue
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace toccata::server
