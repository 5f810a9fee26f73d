#include "base/thread_pool.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <system_error>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/cpu_features.h"

namespace toccata {
namespace {

// A wake from the futex costs tens of microseconds, which is more than most phases of a forward step take;
// a thread that spins for longer than a wake costs only takes the core from somebody else.
constexpr double kSpinSeconds = 50e-6;

inline void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// A number that one thread advances and others wait for. Waiters spin, then sleep in the kernel.
//
// No wake is lost: the waiter announces itself in `sleepers_` and then lets the kernel compare the value; the
// advancer writes the value and then reads `sleepers_`. All four are sequentially consistent (the kernel
// compares under the lock of the futex), so either the advancer sees the sleeper or the kernel sees the new value.
class alignas(64) Gate {
 public:
  uint32_t value() const { return value_.load(std::memory_order_acquire); }

  void advance(uint32_t next) {
    value_.store(next, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) futex(FUTEX_WAKE_PRIVATE, INT_MAX);
  }

  // Returns once the value is no longer `old`.
  void wait_while(uint32_t old, bool spin) {
    if (spin && spin_while(old)) return;
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    while (value() == old) futex(FUTEX_WAIT_PRIVATE, old);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  bool spin_while(uint32_t old) const {
    for (int i = 0; i < 64; ++i) {  // the common case: no look at the clock
      if (value() != old) return true;
      pause_cpu();
    }
    const double end = monotonic_seconds() + kSpinSeconds;
    do {
      for (int i = 0; i < 16; ++i) {
        if (value() != old) return true;
        pause_cpu();
      }
    } while (monotonic_seconds() < end);
    return value() != old;
  }

  void futex(int operation, uint32_t argument) {
    static_assert(sizeof(value_) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);
    ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&value_), operation, argument, nullptr, nullptr, 0);
  }

  std::atomic<uint32_t> value_{0};
  std::atomic<uint32_t> sleepers_{0};
};

struct alignas(64) Counter {
  std::atomic<int64_t> next{0};
};

}  // namespace

struct ThreadPool::Impl {
  int size = 1;
  bool spin = true;

  // Written by the caller of run() before it advances `region`; read by the workers after they saw it advance.
  void (*function)(void*, Team&) = nullptr;
  void* context = nullptr;
  bool stop = false;
  Gate region;

  // Phases are numbered through the life of the pool: phase p ends at the barrier that advances `phase` to
  // p + 1, and its parallel_for takes from counters[p % 2]. The last thread to arrive at that barrier
  // resets the counter after it has released the others: nobody touches the counter before phase p + 2,
  // and phase p + 2 cannot begin before this thread, too, has arrived at the barrier of phase p + 1.
  alignas(64) std::atomic<int> arrived{0};
  Gate phase;
  Counter counters[2];

  std::vector<std::thread> workers;
};

int64_t Team::take(int64_t grain) {
  return pool_.impl_->counters[phase_ % 2].next.fetch_add(grain, std::memory_order_relaxed);
}

void Team::barrier() {
  ThreadPool::Impl& pool = *pool_.impl_;
  const uint32_t phase = phase_++;
  // acq_rel on one atomic chains the arrivals: the last thread has seen the writes of all the others, and
  // publishes them with the gate.
  if (pool.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
    pool.arrived.store(0, std::memory_order_relaxed);
    pool.phase.advance(phase_);
    pool.counters[phase % 2].next.store(0, std::memory_order_relaxed);
  } else {
    pool.phase.wait_while(phase, pool.spin);
  }
}

ThreadPool::ThreadPool(int threads) : impl_(std::make_unique<Impl>()) {
  TOCCATA_CHECK(threads >= 1);
  // The workers wait for the first region, so the size can still shrink when the system grants fewer threads.
  for (int rank = 1; rank < threads; ++rank) {
    try {
      impl_->workers.emplace_back([this, rank] { work(rank); });
    } catch (const std::system_error&) {
      break;
    }
    impl_->size = rank + 1;
  }
  // With more threads than CPUs a spinning thread keeps the one it waits for from running.
  impl_->spin = impl_->size <= cpu_features().logical_cpus;
}

ThreadPool::~ThreadPool() {
  impl_->stop = true;
  impl_->region.advance(impl_->region.value() + 1);
  for (std::thread& worker : impl_->workers) worker.join();
}

int ThreadPool::size() const { return impl_->size; }

void ThreadPool::run_erased(void (*function)(void*, Team&), void* context) {
  impl_->function = function;
  impl_->context = context;
  impl_->region.advance(impl_->region.value() + 1);
  Team team(*this, 0, impl_->size);
  team.phase_ = impl_->phase.value();
  function(context, team);
  team.barrier();
}

void ThreadPool::work(int rank) {
  for (uint32_t region = 0;; ++region) {
    // No look at anything but the gate before the first region: the constructor still writes the rest.
    impl_->region.wait_while(region, region != 0 && impl_->spin);
    if (impl_->stop) return;
    Team team(*this, rank, impl_->size);
    team.phase_ = impl_->phase.value();  // cannot advance before this thread has arrived at a barrier
    impl_->function(impl_->context, team);
    team.barrier();
  }
}

}  // namespace toccata
