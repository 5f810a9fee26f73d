// A persistent pool that runs one function on all its threads at once (SPMD).
//
// The forward step is one parallel region: every thread walks the same layers and meets the others at
// barriers, so a phase costs one barrier and not a fork plus a join.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace toccata {

class ThreadPool;

// The view that one thread has of a running parallel region. Every thread must call barrier() and
// parallel_for() in the same order with the same arguments.
class Team {
 public:
  int rank() const { return rank_; }
  int size() const { return size_; }

  // Returns once all threads have arrived; writes before it are visible after it.
  void barrier();

  // Calls body(begin, end) for chunks of at most `grain` items that cover [0, n), handed out dynamically
  // in ascending order, and ends with a barrier. Which thread gets which chunk is not determined, so a
  // body's result must not depend on it.
  template <class Body>
  void parallel_for(int64_t n, int64_t grain, Body&& body) {
    for (int64_t begin; (begin = take(grain)) < n;) {
      body(begin, begin + grain < n ? begin + grain : n);
    }
    barrier();
  }

 private:
  friend class ThreadPool;
  Team(ThreadPool& pool, int rank, int size) : pool_(pool), rank_(rank), size_(size) {}
  int64_t take(int64_t grain);  // the next chunk's begin; past the end when nothing is left

  ThreadPool& pool_;
  int rank_;
  int size_;
  uint32_t phase_ = 0;  // number of barriers passed in the pool's life, modulo 2^32
};

class ThreadPool {
 public:
  // `threads` >= 1 counts the caller of run(), which works as rank 0. Waiting threads spin for a short
  // time and then sleep on a futex. If the system grants fewer threads, the pool is smaller: see size().
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const;

  // Runs body(Team&) on every thread and returns when all have finished. Not reentrant; one caller at a time.
  template <class Body>
  void run(Body&& body) {
    using B = std::remove_reference_t<Body>;
    run_erased([](void* b, Team& t) { (*static_cast<B*>(b))(t); },
               const_cast<void*>(static_cast<const void*>(std::addressof(body))));
  }

 private:
  friend class Team;
  struct Impl;
  void run_erased(void (*function)(void*, Team&), void* context);
  void work(int rank);
  std::unique_ptr<Impl> impl_;
};

}  // namespace toccata
