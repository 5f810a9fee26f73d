#include "sampling/draw.h"

#include <limits>

#include "base/check.h"
#include "base/exact_math.h"

namespace toccata {
namespace {

// The best so far.
struct Leader {
  double score = -std::numeric_limits<double>::infinity();
  int32_t token = std::numeric_limits<int32_t>::max();

  void meet(double challenger, int32_t its_token) {
    if (challenger < score || (challenger == score && its_token > token)) return;
    score = challenger;
    token = its_token;
  }
};

// The tokens of one run and group, of which `top` is the largest share.
void race_run(std::span<const float> run, int32_t begin, double top, const LogitsRow& row, double temperature,
              const Race& race, const Race::Group& group, Leader& leader) {
  const double arrival = group.arrival();
  const double first = race.gumbel(group, arrival, group.first);
  if (!(top + first + Race::kSlack >= leader.score)) return;
  if (const int32_t i = group.first - begin; i < std::ssize(run)) {
    const double share = log_share(run[static_cast<size_t>(i)], row.best, temperature);
    if (share + first >= leader.score) leader.meet(share + first, group.first);
  }
  // To win with the share `top` a token must arrive by exp(top - score); and it arrives after the first.
  const double latest = exact::exp(top - leader.score) * (1 + Race::kSlack) - arrival;
  for (size_t i = 0; i < run.size(); ++i) {
    const double share = log_share(run[i], row.best, temperature);
    if (!(share + first + Race::kSlack >= leader.score)) continue;  // also NaN
    const int32_t token = begin + static_cast<int32_t>(i);
    if (token == group.first || race.follows_after(token, latest)) continue;
    leader.meet(share + race.gumbel(group, arrival, token), token);
  }
}

}  // namespace

int32_t draw(std::span<const Candidate> candidates, const Race& race) {
  TOCCATA_CHECK(!candidates.empty());
  Leader leader;
  for (const Candidate& c : candidates) {
    const Race::Group group = race.group(c.token);
    if (c.share + group.most() < leader.score) continue;
    leader.meet(c.share + race.gumbel(group, group.arrival(), c.token), c.token);
  }
  return leader.token;
}

int32_t draw_any(const LogitsRow& row, double temperature, const Race& race) {
  static_assert(LogitsRow::kRun == Race::kGroup);
  Leader leader;
  const int32_t favourite = argmax(row);
  leader.meet(race.gumbel(favourite), favourite);
  for (size_t j = 0; j < row.tops.size(); ++j) {
    const double top = log_share(row.tops[j], row.best, temperature);
    const auto begin = static_cast<int32_t>(j * LogitsRow::kRun);
    const Race::Group group = race.group(begin);
    if (!(top + group.most() >= leader.score)) continue;
    race_run(row.run(j), begin, top, row, temperature, race, group, leader);
  }
  return leader.token;
}

}  // namespace toccata
