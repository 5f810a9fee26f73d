// Speculation inside the engine: asks the drafters for the requests that decode, and counts what became of the drafts.
#pragma once

#include <span>
#include <vector>

#include "engine/sequence.h"
#include "spec/drafter.h"
#include "toccata/engine.h"

namespace toccata::engine {

class Drafting {
 public:
  Drafting(spec::Drafters drafters, const SpeculationParams& standard)
      : drafters_(std::move(drafters)), standard_(standard) {}

  // kInvalidArgument: the request asks for a method that this engine does not offer.
  Status check(const Request& request) const;

  // Fills `draft` of each of these sequences, which all decode; empty for those that go on without.
  void propose(std::span<Sequence* const> decoding);
  // The step verified the first `drafted` tokens of the sequence's draft; `accepted` were right and became its text.
  void verified(Sequence& s, int64_t drafted, int64_t accepted);
  void finished(const Sequence& s);

  void fill(EngineStats& stats) const;

 private:
  const SpeculationParams& params(const Sequence& s) const {
    return s.request.speculative ? *s.request.speculative : standard_;
  }

  const spec::Drafters drafters_;
  const SpeculationParams standard_;
  std::vector<spec::Job> jobs_;
  SpeculationStats stats_;
};

}  // namespace toccata::engine
