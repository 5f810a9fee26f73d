#include "engine/drafting.h"

#include <algorithm>
#include <string>

namespace toccata::engine {
namespace {

constexpr int64_t kFew = 2 * SpeculationParams::kMostTokens;  // unread tokens that count for nothing
constexpr int64_t kAnswer = 64;                               // tokens that an answer is taken to have yet
constexpr int64_t kLeastRead = 32, kMostRead = 512;           // tokens of texts between two steps
constexpr double kPause = 4.0;                                // plain steps that this may take

}  // namespace

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

spec::Job Drafting::job_for(Sequence& s, size_t source) const {
  const SpeculationParams& p = params(s);
  spec::Job job;
  job.id = s.id;
  job.text = s.tokens;
  job.salt = s.request.cache_salt;
  job.draft = &s.speculation.drafts[source];
  job.sampler = &s.sampler;
  job.rejection = rejects(s);
  // The last token of an answer needs no draft: what comes after it is not wanted.
  if (p.method == spec::kMethods[source] || p.method == SpecMethod::kAuto) {
    job.most = std::min({int64_t{p.num_tokens > 0 ? p.num_tokens : SpeculationParams::kMostTokens}, s.most_more() - 1,
                         s.most_drafted()});
  }
  return job;
}

void Drafting::ask(size_t source, std::span<Sequence* const> decoding) {
  spec::Drafter* drafter = spec::source(drafters_, source);
  if (!drafter) return;
  jobs_.clear();
  for (Sequence* s : decoding) {
    if (const spec::Job job = job_for(*s, source); job.most > 0) jobs_.push_back(job);
  }
  if (!jobs_.empty()) drafter->propose(jobs_);
}

// Which requests the model is to draft for, and how many tokens of their texts it may read.
void Drafting::invite(int64_t requests, double otherwise, int64_t most_rows) {
  spec::PacedDrafter& model = *drafters_.model;
  candidates_.clear();
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const Sequence& s = *asked_[i];
    const int64_t unread = model.unread(jobs_[i]);
    spec::Pacing::Candidate c;
    c.acceptance = controller_.acceptance(s.speculation, spec::kModelSource);
    c.most = jobs_[i].most;
    c.reading = unread > kFew ? model.reading_seconds(unread) : 0.0;
    c.left = static_cast<double>(std::min(s.most_more(), std::max(kAnswer, s.report.generated_tokens)));
    candidates_.push_back(c);
  }
  pacing_.invite(candidates_, requests, costs_, otherwise, most_rows);
  int64_t reads = kLeastRead;  // tokens, for all of them
  const double pause = kPause * costs_.step(0);
  while (reads < kMostRead && model.reading_seconds(2 * reads) < pause) reads *= 2;
  size_t kept = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const int64_t fixed = params(*asked_[i]).num_tokens;
    if (!candidates_[i].invited && fixed == 0) continue;
    spec::Job job = jobs_[i];
    job.gate = fixed > 0 ? nullptr : this;
    const int64_t unread = model.unread(job);
    job.most_read = unread > kFew ? std::min(unread, reads) : kFew;
    if (job.most_read < 1) continue;
    if (unread > kFew) reads -= job.most_read;
    asked_[kept] = asked_[i];
    jobs_[kept++] = job;
  }
  jobs_.resize(kept);
}

// False: there is no draft of the model.
bool Drafting::ask_model(std::span<Sequence* const> decoding, int64_t requests, double otherwise, int64_t most_rows) {
  if (!drafters_.model) return false;
  jobs_.clear();
  asked_.clear();
  for (Sequence* s : decoding) {
    const spec::Job job = job_for(*s, spec::kModelSource);
    if (job.most < 1) continue;
    jobs_.push_back(job);
    asked_.push_back(s);
  }
  if (jobs_.empty()) return false;
  computed_ = true;
  invite(requests, otherwise, most_rows);
  if (!jobs_.empty()) drafters_.model->propose(jobs_);
  return std::any_of(jobs_.begin(), jobs_.end(), [](const spec::Job& job) { return !job.draft->tokens.empty(); });
}

bool Drafting::another(const spec::Job& job, int64_t requests) {
  const auto found = std::find_if(jobs_.begin(), jobs_.end(), [&job](const spec::Job& j) { return &j == &job; });
  const spec::RequestState& state = asked_[static_cast<size_t>(found - jobs_.begin())]->speculation;
  const double next = controller_.acceptance(state, spec::kModelSource);
  return pacing_.worth(std::ssize(job.draft->tokens), controller_.right(state, spec::kModelSource) * next, requests,
                       costs_);
}

void Drafting::propose(std::span<Sequence* const> decoding, const sched::CostModel& cost, int64_t most_rows) {
  computed_ = false;
  entries_.clear();
  sched::StepShape plain;
  for (Sequence* s : decoding) {
    s->speculation.clear();
    plain.add_decode(s->computed);
    if (params(*s).method != SpecMethod::kOff) entries_.push_back({&s->speculation, params(*s).num_tokens});
  }
  if (entries_.empty() || most_rows < 1) return;
  for (size_t source = 0; source < spec::kModelSource; ++source) ask(source, decoding);
  const auto context = static_cast<int64_t>(plain.decode_keys / static_cast<double>(plain.decodes));
  const auto seconds = [plain, context, &cost](int64_t rows) {
    sched::StepShape shape = plain;
    shape.add_draft(context, rows);
    return cost.predict(shape);
  };
  costs_.step = [this, seconds, requests = plain.decodes](int64_t rows) {
    return controller_.corrected(requests, rows, seconds);
  };
  costs_.token = [this](int64_t drafts) { return drafters_.model->token_seconds(drafts); };
  const double otherwise = controller_.plan(entries_, plain.decodes, seconds, most_rows);
  if (ask_model(decoding, plain.decodes, otherwise, most_rows)) {
    controller_.plan(entries_, plain.decodes, seconds, most_rows);
  }
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
