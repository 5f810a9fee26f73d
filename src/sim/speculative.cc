#include "sim/speculative.h"

#include <cstdio>

#include "spec/rejection.h"
#include "text/chat_template/ops.h"

namespace toccata::sim {
namespace {

// Two decimals, more where they are needed.
std::string probability(double p) {
  char text[40];
  for (int decimals = 2; decimals <= 17; ++decimals) {
    std::snprintf(text, sizeof text, "%.*f", decimals, p);
    if (std::stod(text) == p) break;
  }
  return text;
}

spec::Distribution choice(int32_t token, double p, int32_t other) {
  if (p <= 0) return spec::Distribution::certain(other);
  if (p >= 1) return spec::Distribution::certain(token);
  return spec::Distribution(std::vector<Candidate>{{0, token, 0, p}, {0, other, 0, 1 - p}});
}

}  // namespace

std::string quote(const std::string& token) { return jinja::repr_string(token); }

const std::string& Lesson::correction(const std::string& token) const {
  const auto found = corrections.find(token);
  return found == corrections.end() ? otherwise : found->second;
}

Status Lesson::validate() const {
  const auto wrong = [](const std::string& message) { return fail(ErrorCode::kInvalidArgument, message); };
  if (tokens.empty()) return wrong("a draft needs at least one token");
  if (kept.size() != tokens.size()) {
    return wrong(std::to_string(tokens.size()) + " tokens need as many probabilities, not " +
                 std::to_string(kept.size()));
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!(kept[i] >= 0 && kept[i] <= 1)) return wrong("the probability of " + quote(tokens[i]) + " is not from 0 to 1");
    if (kept[i] < 1 && correction(tokens[i]) == tokens[i]) {
      return wrong("the target cannot correct " + quote(tokens[i]) + " to itself: name another correction");
    }
  }
  return {};
}

Lesson classic_lesson() {
  return {{"the", "quick", "red", "fox", "leaps"}, {0.99, 0.95, 0.05, 0.90, 0.10}, {{"red", "brown"}}, "jumps"};
}

size_t kept_of(std::span<const double> probabilities, uint64_t seed, int64_t position) {
  std::vector<spec::DraftNode> draft;
  for (size_t i = 0; i < probabilities.size(); ++i) {
    draft.push_back({{static_cast<int32_t>(2 * i), nullptr}, static_cast<int>(i) - 1});
  }
  const auto target = [&](int node) {
    const auto next = static_cast<size_t>(node + 1);
    const auto token = static_cast<int32_t>(2 * next);
    return choice(token, next < probabilities.size() ? probabilities[next] : 1.0, token + 1);
  };
  std::vector<int> kept;
  spec::verify_draft(draft, target, seed, position, kept);
  return kept.size();
}

std::string draft_line(std::span<const std::string> tokens) {
  std::string list;
  for (const std::string& t : tokens) list += (list.empty() ? "" : ", ") + quote(t);
  return "Draft Model Candidates: [" + list + "]\n";
}

std::string kept_line(const std::string& token, const std::string& detail) {
  return "✅ Token " + quote(token) + " accepted (" + detail + ")\n";
}

std::string rejected_line(const std::string& token, const std::string& detail) {
  return "❌ Token " + quote(token) + " REJECTED (" + detail + ")\n";
}

std::string correction_line(const std::string& token) {
  return "🔧 Target model corrected token to: " + quote(token) + "\n";
}

std::string summary_text(int64_t drafted, int64_t kept, const std::string& sequence) {
  return "\n--- PERFORMANCE SUMMARY ---\nTotal draft tokens evaluated: " + std::to_string(drafted) +
         "\nTokens accepted before rejection: " + std::to_string(kept) + "\nFinal validated sequence: " + sequence +
         "\n=================================================\n";
}

std::string lesson_text(const Lesson& lesson, size_t kept) {
  std::string text = kLessonHead + draft_line(lesson.tokens), sequence;
  const auto say = [&sequence](const std::string& token) { sequence += (sequence.empty() ? "" : " ") + token; };
  for (size_t i = 0; i < kept; ++i) {
    text += kept_line(lesson.tokens[i], "Prob: " + probability(lesson.kept[i]));
    say(lesson.tokens[i]);
  }
  if (kept < lesson.tokens.size()) {
    const std::string& correction = lesson.correction(lesson.tokens[kept]);
    text += rejected_line(lesson.tokens[kept], "Prob: " + probability(lesson.kept[kept])) + correction_line(correction);
    say(correction);
  }
  return text + summary_text(std::ssize(lesson.tokens), static_cast<int64_t>(kept), sequence);
}

Rounds run_rounds(std::span<const double> probabilities, uint64_t seed, int64_t rounds) {
  Rounds r;
  r.counts.resize(probabilities.size() + 1);
  for (; r.rounds < rounds; ++r.rounds) {
    const size_t kept = kept_of(probabilities, seed, r.tokens);
    ++r.counts[kept];
    if (r.first.size() < Rounds::kShown) r.first.push_back(kept);
    r.tokens += static_cast<int64_t>(kept) + 1;
  }
  return r;
}

double exactly(std::span<const double> probabilities, size_t k) {
  double p = k < probabilities.size() ? 1 - probabilities[k] : 1.0;
  for (size_t i = 0; i < k; ++i) p *= probabilities[i];
  return p;
}

double expected_tokens(std::span<const double> probabilities) {
  double sum = 1, all = 1;
  for (const double a : probabilities) sum += all *= a;
  return sum;
}

}  // namespace toccata::sim
