#include "server/worker.h"

#include <exception>

#include "server/log.h"

namespace toccata::server {

bool Worker::post(size_t bytes, std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || (!tasks_.empty() && bytes_ + bytes > max_bytes_)) return false;
    bytes_ += bytes;
    tasks_.emplace_back(bytes, std::move(task));
  }
  changed_.notify_one();
  return true;
}

void Worker::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    tasks_.clear();
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Worker::run() {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
      if (stopping_) return;
      bytes_ -= tasks_.front().first;
      task = std::move(tasks_.front().second);
      tasks_.pop_front();
    }
    try {
      task();
    } catch (const std::exception& e) {
      log_line("a request could not be read: %s", e.what());
    }
  }
}

}  // namespace toccata::server
