// Which drafted tokens are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace toccata::spec {

// By any rule: keep(i) gives whether the i-th of `drafted` tokens is kept, for i = 0, 1, ...
// until one is not. Behind a whole draft the target draws one token more, draw(drafted).
template <class Keep, class Draw>
size_t verify_by(size_t drafted, Keep keep, Draw draw) {
  for (size_t i = 0; i < drafted; ++i) {
    if (!keep(i)) return i;
  }
  draw(drafted);
  return drafted;
}

// Coupled verification. draw(i) gives the token that the target itself draws after the first i drafted tokens, with
// that position's random numbers; it is called for i = 0, 1, ... while the draft agrees. What was drawn is, token by
// token, what the plain path draws; the result says how many of them the draft had right. One more was drawn: the
// correction of the first wrong one, or the token after the whole draft.
template <class Draw>
size_t verify_coupled(std::span<const int32_t> draft, Draw draw) {
  return verify_by(
      draft.size(), [&](size_t i) { return draw(i) == draft[i]; }, draw);
}

}  // namespace toccata::spec
