// Stop strings in a stream of text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace toccata {

// Finds the stop string that ends first, whatever the pieces in which the text arrives; among those that end at the
// same byte the one that begins first. Text that may still turn out to be the beginning of a stop string is held
// back, never more than the longest stop string less one byte. Knuth, Morris, Pratt 1977: one automaton per stop
// string, O(text * stop strings) in all.
class StopMatcher {
 public:
  explicit StopMatcher(const std::vector<std::string>& stops);  // empty strings are ignored

  struct Output {
    std::string text;  // safe to show: never part of a stop string
    bool stopped = false;
  };
  // After a stop nothing more is accepted: further pieces give nothing.
  Output push(std::string_view piece);
  // The end of the text: what was held back. The matcher is then as new.
  std::string flush();
  bool stopped() const { return stopped_; }

 private:
  struct Automaton {
    std::string pattern;
    std::vector<size_t> border;  // border[i]: length of the longest proper border of pattern[0, i]
    size_t matched = 0;          // length of the longest prefix of pattern that ends the text so far
    void step(char c);
  };
  std::vector<Automaton> automata_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace toccata
