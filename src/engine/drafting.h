// Speculation inside the engine: asks the drafters for the requests that decode, has the controller choose what of it
// is verified, and counts what became of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/sequence.h"
#include "sched/cost_model.h"
#include "spec/controller.h"
#include "spec/drafter.h"
#include "spec/pacing.h"
#include "toccata/engine.h"

namespace toccata::engine {

class Drafting final : private spec::Gate {
 public:
  Drafting(spec::Drafters drafters, const SpeculationParams& standard)
      : drafters_(std::move(drafters)), standard_(standard) {}

  // kInvalidArgument: the request asks for a method that this engine does not offer.
  Status check(const Request& request) const;

  // Sets `speculation` of each of these sequences, which all decode: what of its drafts the next step is to verify, at
  // most `most_rows` tokens for all of them.
  void propose(std::span<Sequence* const> decoding, const sched::CostModel& cost, int64_t most_rows);
  bool computed() const { return computed_; }  // propose() had a model draft, which took time
  // Whether the sequence's drafts are verified by rejection.
  bool rejects(const Sequence& s) const { return params(s).verify == SpecVerify::kRejection; }
  // The step drew these tokens for the sequence. Call before they become its text.
  void drawn(Sequence& s, std::span<const Sampled> tokens);
  // The step verified the first `drafted` tokens of the sequence's draft; `accepted` were right and became its text.
  void verified(Sequence& s, int64_t drafted, int64_t accepted);
  // The step had this shape and took this time, without that of drafting.
  void measured(const sched::StepShape& shape, double predicted, double seconds);
  void finished(const Sequence& s);

  void fill(EngineStats& stats) const;

 private:
  const SpeculationParams& params(const Sequence& s) const {
    return s.request.speculative ? *s.request.speculative : standard_;
  }
  spec::Job job_for(Sequence& s, size_t source) const;
  void ask(size_t source, std::span<Sequence* const> decoding);
  bool ask_model(std::span<Sequence* const> decoding, int64_t requests, double otherwise, int64_t most_rows);
  void invite(int64_t requests, double otherwise, int64_t most_rows);
  bool another(const spec::Job& job, int64_t requests) override;

  const spec::Drafters drafters_;
  const SpeculationParams standard_;
  spec::Controller controller_;
  spec::Pacing pacing_;
  spec::Pacing::Costs costs_;  // of the step that is planned
  std::vector<spec::Job> jobs_;
  std::vector<Sequence*> asked_;                     // by job, of the model
  std::vector<spec::Pacing::Candidate> candidates_;  // by job
  std::vector<spec::Controller::Entry> entries_;
  std::vector<int32_t> tokens_;
  SpeculationStats stats_;
  bool computed_ = false;
};

}  // namespace toccata::engine
