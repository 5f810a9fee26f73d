// How many drafted tokens are worth verifying, and whose.
//
// How often a drafter is right is estimated per grade (spec/drafter.h), from running counts of each request on top of
// those of all requests. Every draft is compared with what the model then draws, verified or not, so a drafter that is
// not in use goes on being watched, and costs nothing.
//
// With a_i for a draft's tokens, the first j of them are all right with probability P_j = a_1 ... a_j, and the step
// gives P_1 + ... + P_k tokens more if k of them are verified. Over the whole batch the rows with the highest P come
// first; r of them are taken where (requests + sum of their P) / t(r) is highest, r = 0 being the plain step. t is the
// engine's cost model, corrected by how it has been wrong for steps of that many rows. So with many requests, whose
// rows fill the machine already, or with drafts that are seldom right, nothing is drafted.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "spec/drafter.h"

namespace toccata::spec {

// How often tokens of each grade were right. The latest weigh most.
class Acceptance {
 public:
  void observe(int grade, bool right);
  // With `weight` observations of `prior` added.
  double rate(int grade, double prior, double weight) const;
  double overall(double prior, double weight) const;  // the same whatever the grade

 private:
  struct Count {
    double seen = 0, right = 0;
  };
  std::array<Count, kGrades> counts_;
};

// One request's drafts for the next step, and what is known about its drafters.
struct RequestState {
  std::array<Draft, kSources> drafts;  // empty where nothing was proposed
  std::array<Acceptance, kSources> acceptance;
  int source = -1;     // whose draft is to be verified; -1: nobody's
  int64_t length = 0;  // its first so many tokens

  void clear() {
    for (Draft& d : drafts) d.clear();
    source = -1;
    length = 0;
  }
  std::span<const int32_t> chosen() const {
    if (source < 0) return {};
    return std::span(drafts[static_cast<size_t>(source)].tokens).first(static_cast<size_t>(length));
  }
  // The chosen draft's i-th token with what it was drawn from.
  Proposal proposal(size_t i) const {
    const Draft& d = drafts[static_cast<size_t>(source)];
    return {d.tokens[i], d.drawn_from.empty() ? nullptr : &d.drawn_from[i]};
  }
};

class Controller {
 public:
  struct Entry {
    RequestState* state = nullptr;
    int64_t fixed = 0;  // above 0: not to be chosen, so many tokens as far as they were drafted
  };
  using Seconds = std::function<double(int64_t rows)>;
  static constexpr size_t kRanges = 16;  // of rows, for the correction of predicted times

  // Sets source and length of each entry, and returns the tokens per second that this promises, 0 if times are unknown;
  // `most_rows` is for all of them together. `requests`: that decode in the step, the entries among them. seconds(r):
  // what the step is predicted to take with r drafted tokens, 0 if that is unknown.
  double plan(std::span<const Entry> entries, int64_t requests, const Seconds& seconds, int64_t most_rows);

  // How often the source's next token is right for this request, as far as nothing is known of it.
  double acceptance(const RequestState& state, size_t source) const;
  // The probability that all tokens of the source's draft so far are right.
  double right(const RequestState& state, size_t source) const;

  // Predicted seconds of a step, corrected by what was measured.
  double corrected(int64_t requests, int64_t drafted, const Seconds& seconds) const;

  // The step has drawn these tokens for the request.
  void observe(RequestState& state, std::span<const int32_t> drawn);
  // A step of `requests` decodes and `drafted` tokens behind them, and nothing else, took this time.
  void measured(int64_t requests, int64_t drafted, double predicted, double seconds);

 private:
  struct Choice {
    double gain;
    RequestState* state;
  };
  double rate(const RequestState& state, size_t source, int grade) const;
  // Appends the gains of the source's draft, token by token; the result is their sum.
  double gains_of(const RequestState& state, size_t source, std::vector<double>& gains) const;

  std::array<Acceptance, kSources> all_;
  std::array<double, kRanges> correction_{};  // measured / predicted, by range of rows; 0: never measured
  std::vector<double> gains_, best_gains_;
  std::vector<Choice> choices_;
};

}  // namespace toccata::spec
