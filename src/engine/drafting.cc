#include "engine/drafting.h"

#include <algorithm>
#include <string>

namespace toccata::engine {

Status Drafting::check(const Request& request) const {
  if (!request.speculative) return {};
  if (Status s = request.speculative->validate(); !s) return s;
  const SpecMethod method = request.speculative->method;
  if (method == SpecMethod::kOff || drafters_.of(method) != nullptr) return {};
  return fail(ErrorCode::kInvalidArgument,
              "speculative: this engine does not offer the method " + std::string(spec_method_name(method)));
}

void Drafting::propose(std::span<Sequence* const> decoding) {
  for (Sequence* s : decoding) s->draft.clear();
  for (const SpecMethod method : {SpecMethod::kNgram, SpecMethod::kSuffix}) {
    jobs_.clear();
    for (Sequence* s : decoding) {
      const SpeculationParams& p = params(*s);
      // The last token of an answer needs no draft: what comes after it is not wanted.
      const int64_t most = std::min<int64_t>(p.num_tokens, s->most_more() - 1);
      if (p.method != method || most < 1) continue;
      jobs_.push_back({s->id, s->tokens, s->request.cache_salt, most, &s->draft});
    }
    if (spec::Drafter* drafter = drafters_.of(method); drafter && !jobs_.empty()) drafter->propose(jobs_);
  }
}

void Drafting::verified(Sequence& s, int64_t drafted, int64_t accepted) {
  ++s.report.drafts;
  s.report.drafted_tokens += drafted;
  s.report.accepted_tokens += accepted;
  ++stats_.drafts;
  stats_.draft_tokens += static_cast<uint64_t>(drafted);
  stats_.accepted_tokens += static_cast<uint64_t>(accepted);
  for (int64_t i = 0; i < accepted; ++i) ++stats_.accepted_per_position[static_cast<size_t>(i)];
}

void Drafting::finished(const Sequence& s) {
  drafters_.each([&s](spec::Drafter& d) { d.finish(s.id, s.tokens, s.prompt_size, s.request.cache_salt); });
}

void Drafting::fill(EngineStats& stats) const { stats.speculation = stats_; }

}  // namespace toccata::engine
