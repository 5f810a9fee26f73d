// The monotonic clock.
#pragma once

#include <chrono>

namespace toccata {

// Seconds since an arbitrary point; never goes backwards, unaffected by changes of the wall clock.
inline double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace toccata
