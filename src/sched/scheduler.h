// Which tokens run in the next step. Pure policy on ids, counts and times: it knows no model, no thread, no clock and
// no KV pointer, so the engine, the tests and a simulator run the same code.
//
// One order rules all: rank = arrival time + priority * ageing_seconds, lower first. Two requests' ranks never change
// places while they wait, yet a waiting request gains on every later one, so nobody starves. Requests are admitted and
// read in this order; when blocks run out, the last one in it is preempted.
//
// A step: every running decode first, and behind it what was drafted for it; then prompts, a chunk of each as far as
// the budget goes, the first in rank first (but it leaves half to others that have less than a quarter of its tokens to
// go); then waiting requests, as long as there are budget, places (max_sequences) and blocks for their whole text. A
// preempted sequence gives up its blocks and waits under its old rank; what it had computed is, as far as it survives
// in the prefix cache, not computed again.
//
// The budget of prompt tokens: chunk_size, or, if that is 0, what the cost model allows: the step must stay within the
// ITL target (without one: within eight plain decode steps); without decodes it is 512 tokens. So a running stream's
// gap is one step, and a step is never longer than 512 (chunk_size) prompt tokens and the decodes take. Preemption
// alone can make a gap longer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sched/cost_model.h"
#include "sched/memory.h"

namespace toccata::sched {

struct Options {
  int64_t max_sequences = 32;
  int64_t max_rows = 544;              // tokens of one step; at least max_sequences + 1
  int64_t max_prompt_logit_rows = 64;  // prompt tokens per step whose logits are wanted
  int64_t max_draft_rows = 0;          // drafted tokens per step; max_rows has room for them
  bool chunked = true;                 // false: prompts are read in steps of their own, decodes wait
  int64_t chunk_size = 0;              // prompt tokens per step; 0: chosen by the cost model
  double itl_target = 0.0;             // seconds
  double ageing_seconds = 10.0;        // waiting that makes up for one level of priority
};

struct Arrival {
  SequenceId id = 0;
  int64_t tokens = 0;  // of the prompt, at least 1
  int32_t priority = 0;
  double time = 0.0;
  double deadline = std::numeric_limits<double>::infinity();
  bool prompt_logits = false;                               // logits of all its prompt's rows are wanted
  int64_t most_keys = std::numeric_limits<int64_t>::max();  // that one of its tokens attends to
};

// Tokens [first, first + count) of a sequence, and behind them `drafted` ones that are not known yet but proposed.
// last: they end with its last known token, so the next one is drawn.
struct Slice {
  SequenceId id = 0;
  int64_t first = 0, count = 0, drafted = 0;
  bool last = false;
};

struct Plan {
  std::vector<Slice> slices;  // decodes first
  std::vector<SequenceId> admitted, preempted;
  std::vector<SequenceId> expired;  // past their deadline, removed
  StepShape shape;
  double predicted_seconds = 0.0;
  void clear();
};

class Scheduler {
 public:
  // The memory must outlive the scheduler.
  Scheduler(const Options& options, Memory& memory);

  void add(const Arrival& arrival);
  // Finished or cancelled, in whatever state; its memory is released. Unknown ids are ignored.
  void remove(SequenceId id);

  // The sequences that the next plan has decode, as far as there is memory; in rank order.
  void decoding(std::vector<SequenceId>& out) const;
  // `tokens` were drafted for a decoding sequence. The next plan verifies as many as there is room for; a draft never
  // takes memory from anybody, and it is forgotten after that plan.
  void offer(SequenceId id, int64_t tokens) { at(id).drafted = tokens; }

  // Decides the next step and reserves its memory. An empty plan: nothing to run. `spent`: seconds since its beginning,
  // which count among what it may take.
  const Plan& plan(double now, double spent = 0);
  // The planned step has run. Call before append() and remove().
  void completed();
  void learn(const StepShape& shape, double seconds) { cost_.observe(shape, seconds); }  // a step of somebody else
  void measured(double seconds);  // how long the planned step took, from plan() to its end
  // `tokens` more are known. All but the last were computed as drafted ones in the step that ended.
  void append(SequenceId id, int64_t tokens = 1);

  const CostModel& cost() const { return cost_; }

  int64_t running() const { return static_cast<int64_t>(running_.size()); }
  int64_t waiting() const { return static_cast<int64_t>(waiting_.size()); }
  bool idle() const { return running_.empty() && waiting_.empty(); }

 private:
  using Rank = std::pair<double, SequenceId>;
  struct Sequence {
    Rank rank;
    double deadline = 0;
    int64_t tokens = 0, computed = 0;
    int64_t prompt = 0;   // tokens when it arrived
    int64_t drafted = 0;  // offered for the next plan
    int64_t most_keys = 0;
    bool running = false, prompt_logits = false;
    int64_t remaining() const { return tokens - computed; }
    int64_t keys() const { return std::min(computed, most_keys); }  // before its next token
  };

  Sequence& at(SequenceId id) { return sequences_.at(id); }
  bool decoding(const Sequence& s) const { return s.remaining() == 1 && s.tokens > s.prompt; }
  void expire(double now);
  void plan_decodes();
  void plan_drafts();
  double cost_of_drafts() const;  // of those offered behind the planned decodes
  void plan_prefills();
  void admit();
  bool make_room(SequenceId id, int64_t tokens);
  void preempt(SequenceId id);
  int64_t chunk_for(const Sequence& s) const;
  int64_t affordable(const Sequence& s) const;
  bool shorter_behind(const Sequence& leader) const;
  void slice(SequenceId id, int64_t count);
  int64_t rows_left() const;
  int64_t promised() const;

  Options options_;
  Memory& memory_;
  std::unordered_map<SequenceId, Sequence> sequences_;
  std::set<Rank> waiting_;
  std::set<Rank> running_;
  std::set<Rank> deadlines_;
  Plan plan_;
  int64_t prompt_logit_rows_ = 0;  // of the plan
  double time_limit_ = 0;          // of the plan; 0: none
  CostModel cost_;
  double margin_ = 1.1;  // 95 of 100 steps take less than this times the prediction
};

}  // namespace toccata::sched
