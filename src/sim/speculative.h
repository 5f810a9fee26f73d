// Speculative decoding to look at: drafts whose tokens a target keeps with given probabilities, decided by the engine's
// own verifier (spec/rejection.h).
//
// A token of probability a is a draft without chance (q = 1) for a target with p(token) = a and p(correction) = 1 - a:
// it is kept with probability a, and the residual of a rejection is the correction alone.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "toccata/result.h"

namespace toccata::sim {

struct Lesson {
  std::vector<std::string> tokens;  // of the draft
  std::vector<double> kept;         // the probability that the target keeps each, given that those before it were kept
  std::map<std::string, std::string> corrections;  // what the target prefers to a token
  std::string otherwise;                           // to tokens that are not listed

  const std::string& correction(const std::string& token) const;
  Status validate() const;  // kInvalidArgument
};

// "the quick red fox leaps", of which the target prefers brown to red and jumps to the rest.
Lesson classic_lesson();

// How many tokens of a draft are kept, each with its probability; a function of seed and position.
size_t kept_of(std::span<const double> probabilities, uint64_t seed, int64_t position);

// The lesson as text, its lines and summary; kept: how many of its tokens.
std::string lesson_text(const Lesson& lesson, size_t kept);
// The parts of it.
std::string quote(const std::string& token);  // as Python shows a string
std::string draft_line(std::span<const std::string> tokens);
std::string kept_line(const std::string& token, const std::string& detail);
std::string rejected_line(const std::string& token, const std::string& detail);
std::string correction_line(const std::string& token);
std::string summary_text(int64_t drafted, int64_t kept, const std::string& sequence);
inline constexpr const char* kLessonHead = "=== STARTING SPECULATIVE DECODING VALIDATION ===\n";

// The same draft in many rounds. Each begins behind the token that the round before ended with: the target's
// correction, or the one after the whole draft.
struct Rounds {
  static constexpr size_t kShown = 6;
  std::vector<int64_t> counts;  // [k]: rounds that kept k tokens
  std::vector<size_t> first;    // what the first few rounds kept
  int64_t rounds = 0, tokens = 0;
  double tokens_per_round() const { return static_cast<double>(tokens) / static_cast<double>(rounds); }
};
Rounds run_rounds(std::span<const double> probabilities, uint64_t seed, int64_t rounds);

// By the formulas. P(exactly k are kept): the first k are, and the next one is not.
double exactly(std::span<const double> probabilities, size_t k);
// 1 + a_1 + a_1 a_2 + ...; with equal a that is (1 - a^(K+1)) / (1 - a).
double expected_tokens(std::span<const double> probabilities);
// Tokens per time of a plain step, where a drafted token costs `draft` of it and the step that verifies `verify`.
inline double speed_up(double tokens, size_t drafted, double draft, double verify) {
  return tokens / (static_cast<double>(drafted) * draft + verify);
}

}  // namespace toccata::sim
