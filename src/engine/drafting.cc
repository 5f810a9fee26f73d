#include "engine/drafting.h"

#include <algorithm>
#include <string>

namespace toccata::engine {

Status Drafting::check(const Request& request) const {
  if (!request.speculative) return {};
  if (Status s = request.speculative->validate(); !s) return s;
  const SpecMethod method = request.speculative->method;
  if (method == SpecMethod::kOff || (method == SpecMethod::kAuto && drafters_.any())) return {};
  for (size_t i = 0; i < spec::kSources; ++i) {
    if (spec::kMethods[i] == method && spec::source(drafters_, i) != nullptr) return {};
  }
  return fail(ErrorCode::kInvalidArgument,
              "speculative: this engine does not offer the method " + std::string(spec_method_name(method)));
}

void Drafting::ask(size_t source, std::span<Sequence* const> decoding) {
  spec::Drafter* drafter = spec::source(drafters_, source);
  if (!drafter) return;
  jobs_.clear();
  for (Sequence* s : decoding) {
    const SpeculationParams& p = params(*s);
    // The last token of an answer needs no draft: what comes after it is not wanted.
    const int64_t most = std::min({int64_t{p.num_tokens > 0 ? p.num_tokens : SpeculationParams::kMostTokens},
                                   s->most_more() - 1, s->most_drafted()});
    if ((p.method != spec::kMethods[source] && p.method != SpecMethod::kAuto) || most < 1) continue;
    jobs_.push_back({s->id, s->tokens, s->request.cache_salt, most, &s->speculation.drafts[source]});
  }
  if (!jobs_.empty()) drafter->propose(jobs_);
}

void Drafting::propose(std::span<Sequence* const> decoding, const sched::CostModel& cost, int64_t most_rows) {
  entries_.clear();
  sched::StepShape plain;
  for (Sequence* s : decoding) {
    s->speculation.clear();
    plain.add_decode(s->computed);
    if (params(*s).method != SpecMethod::kOff) entries_.push_back({&s->speculation, params(*s).num_tokens});
  }
  if (entries_.empty() || most_rows < 1) return;
  for (size_t source = 0; source < spec::kSources; ++source) ask(source, decoding);
  const auto context = static_cast<int64_t>(plain.decode_keys / static_cast<double>(plain.decodes));
  const auto seconds = [&](int64_t rows) {
    sched::StepShape shape = plain;
    shape.add_draft(context, rows);
    return cost.predict(shape);
  };
  controller_.plan(entries_, plain.decodes, seconds, most_rows);
}

void Drafting::drawn(Sequence& s, std::span<const Sampled> tokens) {
  tokens_.clear();
  for (const Sampled& t : tokens) tokens_.push_back(t.token);
  controller_.observe(s.speculation, tokens_);
  s.speculation.clear();
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

void Drafting::measured(const sched::StepShape& shape, double predicted, double seconds) {
  if (shape.prefill_tokens == 0) controller_.measured(shape.decodes, shape.drafted, predicted, seconds);
}

void Drafting::finished(const Sequence& s) {
  for (size_t i = 0; i < spec::kSources; ++i) {
    spec::Drafter* drafter = spec::source(drafters_, i);
    if (drafter) drafter->finish(s.id, s.tokens, s.prompt_size, s.request.cache_salt);
  }
}

void Drafting::fill(EngineStats& stats) const { stats.speculation = stats_; }

}  // namespace toccata::engine
