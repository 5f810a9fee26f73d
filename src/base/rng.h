// Counter-based random numbers: a draw is a pure function of (seed, position, purpose, index), so it does
// not depend on how a step was batched, chunked or drafted, nor on what was drawn before.
//
// Philox4x32-10: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011.
#pragma once

#include <array>
#include <cstdint>

namespace toccata::rng {

using Counter = std::array<uint32_t, 4>;
using Key = std::array<uint32_t, 2>;

// Ten rounds. In each, the two even words are multiplied to 64 bits; the high halves, mixed with the key and
// the odd words, and the low halves change places. The key advances by Weyl constants.
constexpr Counter philox4x32(Counter c, Key k) {
  constexpr uint64_t kMul0 = 0xD2511F53, kMul1 = 0xCD9E8D57;
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = kMul0 * c[0], p1 = kMul1 * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    k[0] += 0x9E3779B9;  // golden ratio
    k[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return c;
}

// What a draw is used for, so that two uses at one position are independent.
enum class Purpose : uint32_t {
  kToken = 0,   // the token at this position: the earliest arrivals (sampling/race.h)
  kDraft = 1,   // a drafter's own choices that must not touch the target's draw
  kAccept = 2,  // rejection verification: its accept tests and the draw behind them
  kTest = 3,    // tests and random models
  kLater = 4,   // the token at this position: the later arrivals
};

constexpr Counter bits(uint64_t seed, uint64_t position, Purpose purpose, uint32_t index) {
  return philox4x32(
      {static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), static_cast<uint32_t>(purpose), index},
      {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
}

// Uniform in [0, 1) on the grid of 2^-53.
constexpr double uniform(uint64_t seed, uint64_t position, Purpose purpose, uint32_t index = 0) {
  const Counter c = bits(seed, position, purpose, index);
  const uint64_t word = (static_cast<uint64_t>(c[1]) << 32 | c[0]) >> 11;
  return static_cast<double>(word) * 0x1p-53;
}

}  // namespace toccata::rng
