// How much of a test runs under a sanitizer.
#pragma once

#include <initializer_list>
#include <vector>

namespace toccata::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

// The cases of a comparison that runs the same code for each. A sanitizer makes them ten times slower and looks for
// other faults than a wrong bit: there, `few`.
template <class T>
std::vector<T> cases(std::initializer_list<T> all, std::initializer_list<T> few) {
  return kSanitized ? few : all;
}

}  // namespace toccata::test
