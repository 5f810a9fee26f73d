#include "sched/scheduler.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace toccata::sched {
namespace {

constexpr int64_t kLargestChunk = 512;
constexpr int64_t kFirstChunk = 64;        // before anything was measured; then at most twice what was
constexpr int64_t kSmallestChunk = 16;     // without a target
constexpr int64_t kUnattainableChunk = 8;  // with a target that a plain decode step misses already
constexpr int64_t kMultiple = 2;           // behind 3,000 keys eight tokens cost half a decode step
constexpr int64_t kPromptsPerStep = 16;
// The target without a target. While a prompt is read, each step spends a decode step on the running streams: that
// stretches the time to the prompt's first token by k / (k - 1). With k = 8 and the lower efficiency of small chunks
// it stays within a quarter of that with chunks of 512.
constexpr double kDecodeSteps = 8.0;
// 95 of 100 steps stay within this times the target, and so 99 within 1.2 times of it.
constexpr double kTolerance = 1.1;
constexpr double kQuantile = 0.95, kMarginStep = 0.02, kMostMargin = 1.6;

}  // namespace

void Plan::clear() {
  slices.clear();
  admitted.clear();
  preempted.clear();
  expired.clear();
  shape = {};
  predicted_seconds = 0.0;
}

Scheduler::Scheduler(const Options& options, Memory& memory) : options_(options), memory_(memory) {
  TOCCATA_CHECK(options.max_sequences >= 1 && options.max_rows > options.max_sequences + options.max_draft_rows);
}

void Scheduler::add(const Arrival& a) {
  TOCCATA_CHECK(a.tokens >= 1 && !sequences_.contains(a.id));
  Sequence s;
  s.rank = {a.time + a.priority * options_.ageing_seconds, a.id};
  s.deadline = a.deadline;
  s.tokens = s.prompt = a.tokens;
  s.prompt_logits = a.prompt_logits;
  s.most_keys = a.most_keys;
  sequences_.emplace(a.id, s);
  waiting_.insert(s.rank);
  if (std::isfinite(a.deadline)) deadlines_.insert({a.deadline, a.id});
}

void Scheduler::remove(SequenceId id) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) return;
  const Sequence& s = found->second;
  (s.running ? running_ : waiting_).erase(s.rank);
  if (s.running) memory_.release(id);
  deadlines_.erase({s.deadline, id});
  std::erase_if(plan_.slices, [id](const Slice& slice) { return slice.id == id; });
  sequences_.erase(found);
}

void Scheduler::expire(double now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const SequenceId id = deadlines_.begin()->second;
    plan_.expired.push_back(id);
    remove(id);
  }
}

const Plan& Scheduler::plan(double now, double spent) {
  plan_.clear();
  prompt_logit_rows_ = 0;
  expire(now);
  if (options_.chunked) plan_decodes();
  const double decodes = cost_.predict(plan_.shape);
  time_limit_ = plan_.shape.decodes == 0  ? 0.0
                : options_.itl_target > 0 ? options_.itl_target * kTolerance / margin_
                                          : kDecodeSteps * decodes;
  if (time_limit_ > 0) time_limit_ = std::max(1e-9, time_limit_ - cost_of_drafts() - spent);
  plan_prefills();
  admit();
  if (!options_.chunked && plan_.slices.empty()) plan_decodes();
  plan_drafts();  // last: from what all others left
  for (const Rank& r : running_) at(r.second).drafted = 0;
  plan_.predicted_seconds = cost_.predict(plan_.shape);
  return plan_;
}

void Scheduler::completed() {
  for (const Slice& slice : plan_.slices) at(slice.id).computed += slice.count;
}

void Scheduler::measured(double seconds) {
  const StepShape& shape = plan_.shape;
  if (plan_.predicted_seconds > 0 && shape.prefill_tokens > 0 && shape.decodes > 0) {
    // Follows the quantile of actual to predicted time: up by 0.95 of a small step for each step above, down by 0.05 of
    // it for each below.
    const bool above = seconds > plan_.predicted_seconds * margin_;
    margin_ = std::clamp(margin_ + kMarginStep * (above ? kQuantile : kQuantile - 1.0), 1.0, kMostMargin);
  }
  cost_.observe(shape, seconds);
}

void Scheduler::append(SequenceId id, int64_t tokens) {
  Sequence& s = at(id);
  s.tokens += tokens;
  s.computed += tokens - 1;
}

void Scheduler::decoding(std::vector<SequenceId>& out) const {
  out.clear();
  for (const Rank& r : running_) {
    if (decoding(sequences_.at(r.second))) out.push_back(r.second);
  }
}

int64_t Scheduler::rows_left() const {
  return options_.max_rows - options_.max_draft_rows - plan_.shape.prefill_tokens - plan_.shape.decodes;
}

void Scheduler::slice(SequenceId id, int64_t count) {
  Sequence& s = at(id);
  if (decoding(s)) {
    plan_.shape.add_decode(s.keys());
  } else {
    plan_.shape.add_prefill(s.keys(), count);
  }
  if (s.prompt_logits && s.computed < s.prompt) prompt_logit_rows_ += count;
  plan_.slices.push_back({id, s.computed, count, 0, s.computed + count == s.tokens});
}

void Scheduler::preempt(SequenceId id) {
  Sequence& s = at(id);
  memory_.release(id);
  running_.erase(s.rank);
  waiting_.insert(s.rank);
  s.running = false;
  s.computed = s.drafted = 0;
  plan_.preempted.push_back(id);
}

// Reserves, at the cost of those that come after `id` and have no slice yet. False: `id` has to do without.
bool Scheduler::make_room(SequenceId id, int64_t tokens) {
  while (!memory_.reserve(id, tokens)) {
    const SequenceId last = running_.rbegin()->second;
    const bool planned =
        std::any_of(plan_.slices.begin(), plan_.slices.end(), [last](const Slice& slice) { return slice.id == last; });
    if (last == id || planned) return false;
    preempt(last);
  }
  return true;
}

void Scheduler::plan_decodes() {
  for (auto it = running_.begin(); it != running_.end();) {
    const SequenceId id = it->second;
    const Sequence& s = at(id);
    if (!decoding(s)) {
      ++it;
      continue;
    }
    const Rank rank = *it;
    if (make_room(id, s.tokens)) {
      slice(id, 1);
    } else {
      preempt(id);
    }
    it = running_.upper_bound(rank);
  }
}

double Scheduler::cost_of_drafts() const {
  StepShape shape = plan_.shape;
  for (const Slice& slice : plan_.slices) {
    const Sequence& s = sequences_.at(slice.id);
    const int64_t n = std::min(s.drafted, options_.max_draft_rows - shape.drafted);
    if (n > 0) shape.add_draft(s.keys(), n);
  }
  return cost_.predict(shape) - cost_.predict(plan_.shape);
}

// Drafts go behind the decodes that are planned. They get blocks that nobody is going to need for the tokens that are
// known; else what fits the blocks that the sequence has.
void Scheduler::plan_drafts() {
  int64_t spare = 0;
  for (const Slice& slice : plan_.slices) {
    if (at(slice.id).drafted > 0) {
      spare = memory_.available() - promised();
      break;
    }
  }
  for (Slice& slice : plan_.slices) {
    const Sequence& s = at(slice.id);
    int64_t n = std::min(s.drafted, options_.max_draft_rows - plan_.shape.drafted);
    if (n <= 0) continue;
    int64_t blocks = memory_.needed(slice.id, s.tokens + n);
    for (; n > 0 && blocks > std::max<int64_t>(0, spare); --n) blocks = memory_.needed(slice.id, s.tokens + n - 1);
    if (n == 0 || !memory_.reserve(slice.id, s.tokens + n)) continue;
    spare -= blocks;
    slice.drafted = n;
    plan_.shape.add_draft(s.keys(), n);
  }
}

// The most tokens of this prompt that keep the step within its time limit; multiples of eight where there is a choice.
int64_t Scheduler::affordable(const Sequence& s) const {
  const int64_t left = kLargestChunk - plan_.shape.prefill_tokens;
  if (plan_.shape.decodes == 0) return left;
  const auto fits = [&](int64_t n) {
    StepShape shape = plan_.shape;
    shape.add_prefill(s.keys(), n);
    return shape.prefill_tokens <= std::max(kFirstChunk, 2 * cost_.largest_prefill()) &&
           (!cost_.ready() || cost_.predict(shape) <= time_limit_);
  };
  int64_t units = 0;
  for (int64_t bit = kLargestChunk / kMultiple; bit > 0; bit /= 2) {
    if ((units + bit) * kMultiple <= left && fits((units + bit) * kMultiple)) units += bit;
  }
  int64_t n = units * kMultiple;
  for (int64_t few = kMultiple / 2; n == 0 && few > 0; few /= 2) {
    if (fits(few)) n = few;
  }
  if (plan_.shape.prefill_tokens > 0) return n;  // others make progress in this step
  if (options_.itl_target <= 0) return std::max(n, kSmallestChunk);
  return n > 0 ? n : kUnattainableChunk;
}

int64_t Scheduler::chunk_for(const Sequence& s) const {
  int64_t n = std::min(s.remaining(), rows_left());
  if (s.prompt_logits) n = std::min(n, options_.max_prompt_logit_rows - prompt_logit_rows_);
  if (options_.chunked) {
    const int64_t budget = options_.chunk_size > 0 ? options_.chunk_size - plan_.shape.prefill_tokens : affordable(s);
    n = std::min(n, budget);
    if (n > kMultiple && n < s.remaining() && shorter_behind(s)) n = std::max(kMultiple, n / 2 / kMultiple * kMultiple);
  }
  return std::max<int64_t>(n, 0);
}

// Whether a prompt with far less to read comes later in this plan: another one in prefill, or the next to be admitted.
bool Scheduler::shorter_behind(const Sequence& leader) const {
  const auto shorter = [&](const Rank& r) {
    const Sequence& s = sequences_.at(r.second);
    return !decoding(s) && s.remaining() * 4 <= leader.remaining();
  };
  if (running() < options_.max_sequences && !waiting_.empty() && shorter(*waiting_.begin())) return true;
  return std::any_of(running_.upper_bound(leader.rank), running_.end(), shorter);
}

void Scheduler::plan_prefills() {
  for (auto it = running_.begin(); it != running_.end();) {
    const Rank rank = *it;
    const SequenceId id = it->second;
    const Sequence& s = at(id);
    const int64_t n = decoding(s) ? 0 : chunk_for(s);
    if (n > 0) {
      if (make_room(id, s.computed + n)) {
        slice(id, n);
      } else if (plan_.slices.empty()) {
        preempt(id);
      }
    }
    it = running_.upper_bound(rank);
  }
}

// Blocks that the running sequences will still take for the tokens they have and one more.
int64_t Scheduler::promised() const {
  int64_t blocks = 0;
  for (const Rank& r : running_) blocks += memory_.needed(r.second, sequences_.at(r.second).tokens + 1);
  return blocks;
}

void Scheduler::admit() {
  if (!plan_.preempted.empty()) return;
  while (!waiting_.empty() && running() < options_.max_sequences) {
    const SequenceId id = waiting_.begin()->second;
    Sequence& s = at(id);
    if (chunk_for(s) == 0 || std::ssize(plan_.slices) - plan_.shape.decodes >= kPromptsPerStep) return;
    s.computed = memory_.attach(id);
    // The chunk anew: behind a cached prefix each token costs more, and none may fit any more.
    const int64_t n = chunk_for(s);
    const bool room = running_.empty() || promised() + memory_.needed(id, s.tokens + 1) <= memory_.available();
    if (n == 0 || !room || !memory_.reserve(id, s.computed + n)) {
      memory_.release(id);
      s.computed = 0;
      return;
    }
    waiting_.erase(waiting_.begin());
    running_.insert(s.rank);
    s.running = true;
    plan_.admitted.push_back(id);
    slice(id, n);
  }
}

}  // namespace toccata::sched
