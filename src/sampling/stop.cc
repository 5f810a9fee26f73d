#include "sampling/stop.h"

#include <algorithm>

namespace toccata {

StopMatcher::StopMatcher(const std::vector<std::string>& stops) {
  for (const std::string& stop : stops) {
    if (stop.empty()) continue;
    Automaton a;
    a.pattern = stop;
    a.border.resize(stop.size());
    for (size_t i = 1, k = 0; i < stop.size(); ++i) {
      while (k > 0 && stop[i] != stop[k]) k = a.border[k - 1];
      if (stop[i] == stop[k]) ++k;
      a.border[i] = k;
    }
    automata_.push_back(std::move(a));
  }
}

// The text ends with the pattern's first `matched` bytes (never the whole pattern: then the matcher has stopped).
void StopMatcher::Automaton::step(char c) {
  while (matched > 0 && pattern[matched] != c) matched = border[matched - 1];
  if (pattern[matched] == c) ++matched;
}

StopMatcher::Output StopMatcher::push(std::string_view piece) {
  Output out;
  if (stopped_) {
    out.stopped = true;
    return out;
  }
  held_.append(piece);
  const size_t before = held_.size() - piece.size();
  size_t hold = 0;
  for (size_t i = before; i < held_.size(); ++i) {
    size_t found = 0;
    hold = 0;
    for (Automaton& a : automata_) {
      a.step(held_[i]);
      if (a.matched == a.pattern.size()) found = std::max(found, a.matched);
      hold = std::max(hold, a.matched);
    }
    if (found > 0) {
      out.text = held_.substr(0, i + 1 - found);
      out.stopped = stopped_ = true;
      held_.clear();
      return out;
    }
  }
  // An empty piece changes nothing: what was held stays held.
  if (piece.empty()) return out;
  out.text = held_.substr(0, held_.size() - hold);
  held_.erase(0, held_.size() - hold);
  return out;
}

std::string StopMatcher::flush() {
  for (Automaton& a : automata_) a.matched = 0;
  stopped_ = false;
  std::string rest;
  rest.swap(held_);
  return rest;
}

}  // namespace toccata
