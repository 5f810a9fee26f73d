// When a drafter whose tokens take time (a smaller model) is asked, and when it has drafted enough.
//
// If a request's drafted tokens are right with probability a each, the first i of them all are with P_i = a^i. R
// requests with drafts of k_r tokens get R + sum of P tokens in the time t(R + sum of k_r) + sum over i of d(n_i), n_i
// the requests that draft an i-th token. As in spec/controller.h rows are taken in order of their P, as many as give
// the most tokens per second; none unless that is clearly more than without the drafter. While it drafts, each token
// tells how sure the drafter was, and a draft goes on as long as its next token promises more than its time is worth at
// that rate (the rule that makes a ratio of sums a maximum, W. Dinkelbach, 1967).
//
// A drafter that is not asked is not watched either, for that would cost. So a small share of the time is saved up for
// trying it once in a while.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "spec/drafter.h"

namespace toccata::spec {

class Pacing {
 public:
  struct Candidate {
    double acceptance = 0;  // of its drafted tokens, estimated
    int64_t most = 0;       // tokens that it can use
    double reading = 0;     // seconds until its text is read, beyond those of a few tokens
    double left = 0;        // tokens that its answer is going to get, estimated
    bool invited = false;   // out
    int64_t tokens = 0;     // out: wanted, 0: only to be read
  };
  using Seconds = std::function<double(int64_t)>;
  struct Costs {
    Seconds step;   // of a step with so many drafted rows; 0 if unknown
    Seconds token;  // of the drafter, for one token of so many drafts at once
  };

  // `otherwise`: tokens per second of the best step without the drafter, which has `requests` decodes.
  void invite(std::span<Candidate> candidates, int64_t requests, const Costs& costs, double otherwise,
              int64_t most_rows);
  // After invite(): whether a token behind `drafted` ones, which is right with this probability, is worth its time, as
  // one of `going` drafts. All of them together do not get more than the step verifies.
  bool worth(int64_t drafted, double right, int64_t going, const Costs& costs);

 private:
  struct Row {
    double right;
    size_t candidate;
    int64_t depth;
  };
  struct Best {
    double rate = 0;
    size_t rows = 0;
    int64_t deepest = 0;
  };
  Best best_of(int64_t deepest, int64_t requests) const;
  double best_rate(std::span<Candidate> candidates, int64_t requests, const Costs& costs, int64_t most_rows);
  void try_one(std::span<Candidate> candidates, const Costs& costs);

  double rate_ = 0;   // tokens per second that the step is planned for
  double saved_ = 0;  // seconds, for trying
  bool trying_ = false;
  int64_t rows_left_ = 0;  // that the step can verify
  std::vector<Row> rows_;
  std::vector<double> step_, token_;  // seconds by rows and by drafts
};

}  // namespace toccata::spec
