// The random part of a draw: an exponential race, which is the Gumbel-max rule. Token i of weight w_i starts to run at
// time 0 and arrives at E_i / w_i, E_i a standard exponential variable; P(i arrives first) = w_i / sum of w. In
// logarithms: the winner has the largest ln w_i + G_i, G_i = -ln E_i, a Gumbel variable (E. Gumbel 1954; C. Maddison,
// D. Tarlow, T. Minka, "A* sampling", NIPS 2014).
//
// E_i is a function of (seed, position, i) alone: neither of the other tokens nor of the model. So which tokens are
// candidates never changes the noise of one, and two models with the same seed draw the same token at a position
// whenever their distributions agree on the winner, which is how a draft meets its target.
//
// Few tokens of a vocabulary can win, and only they need a logarithm. The smallest of kGroup exponentials is itself
// exponential with rate kGroup and belongs to each member with the same chance; the others follow after it by further
// standard exponentials, for the variable has no memory. So one random number tells how soon anybody of a group of
// kGroup consecutive ids may arrive, and bounds the G_i of all of them.
#pragma once

#include <bit>
#include <cstdint>

#include "base/exact_math.h"
#include "base/rng.h"

namespace toccata {

class Race {
 public:
  static constexpr int32_t kGroup = 128;
  static constexpr double kSlack = 1e-9;  // of bounds: far above the rounding errors of what they bound

  Race(uint64_t seed, int64_t position) : seed_(seed), position_(static_cast<uint64_t>(position)) {}

  // What a group's tokens have in common.
  struct Group {
    double c;       // the first arrival is -ln(1 - c) / kGroup; c on the odd multiples of 2^-53, so 1 - c is exact
    int32_t first;  // the token that it belongs to
    // No G of the group is above this. Takes no logarithm: -ln(1 - c) >= c >= 2^ilogb(c).
    double most() const {
      const auto exponent = static_cast<int>(std::bit_cast<uint64_t>(c) >> 52) - 1023;
      return kLnGroup - exponent * kLn2 + kSlack;
    }
    double arrival() const { return -exact::log(1.0 - c) * (1.0 / kGroup); }
  };

  Group group(int32_t token) const {
    const int32_t g = token / kGroup;
    const rng::Counter bits = rng::bits(seed_, position_, rng::Purpose::kToken, static_cast<uint32_t>(g));
    return {unit(bits[0], bits[1]), g * kGroup + static_cast<int32_t>(bits[2] % kGroup)};
  }

  // G of a token of that group, arrival = group.arrival().
  double gumbel(const Group& group, double arrival, int32_t token) const {
    return -exact::log(token == group.first ? arrival : arrival + later(token));
  }
  // True only if the token, not its group's first, follows the first after more than `time`. Takes no logarithm.
  bool follows_after(int32_t token, double time) const { return later_unit(token) > time; }
  double gumbel(int32_t token) const {
    const Group g = group(token);
    return gumbel(g, g.arrival(), token);
  }

 private:
  static constexpr double kLn2 = 0.693147180559945309;
  static constexpr double kLnGroup = 7 * kLn2;

  static_assert(kGroup == 1 << 7);

  static double unit(uint32_t low, uint32_t high) {
    const uint64_t word = static_cast<uint64_t>(high) << 32 | low;
    return static_cast<double>((word >> 12 << 1) + 1) * 0x1p-53;
  }
  double later_unit(int32_t token) const {
    const rng::Counter bits = rng::bits(seed_, position_, rng::Purpose::kLater, static_cast<uint32_t>(token));
    return unit(bits[0], bits[1]);
  }
  double later(int32_t token) const { return -exact::log(1.0 - later_unit(token)); }

  uint64_t seed_, position_;
};

}  // namespace toccata
