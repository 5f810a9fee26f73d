#include "sim/scheduling.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/rng.h"

namespace toccata::sim {
namespace {

constexpr int64_t kBlockTokens = 32;

int64_t blocks_of(int64_t tokens) { return (tokens + kBlockTokens - 1) / kBlockTokens; }

// A KV cache of counts; nothing is ever found in it.
class BlockCounts final : public sched::Memory {
 public:
  BlockCounts(int64_t blocks, size_t requests) : free_(blocks), held_(requests) {}

  int64_t block_tokens() const override { return kBlockTokens; }
  int64_t available() const override { return free_; }
  int64_t attach(sched::SequenceId) override { return 0; }
  int64_t needed(sched::SequenceId id, int64_t tokens) const override {
    return std::max<int64_t>(0, blocks_of(tokens) - held_[id]);
  }
  bool reserve(sched::SequenceId id, int64_t tokens) override {
    const int64_t more = needed(id, tokens);
    if (more > free_) return false;
    free_ -= more;
    held_[id] += more;
    return true;
  }
  void release(sched::SequenceId id) override {
    free_ += held_[id];
    held_[id] = 0;
  }

 private:
  int64_t free_;
  std::vector<int64_t> held_;
};

// As Core::calibrate does before the first request.
void calibrate(sched::Scheduler& scheduler, const StepCost& cost, int64_t sequences) {
  constexpr int64_t kDeep = 1024;
  const int64_t decodes = std::min<int64_t>(8, sequences);
  const auto learn = [&](int64_t prefill, int64_t running, int64_t context) {
    sched::StepShape shape;
    for (int64_t i = 0; i < running; ++i) shape.add_decode(context);
    if (prefill > 0) shape.add_prefill(context, prefill);
    scheduler.learn(shape, cost(shape));
  };
  for (int round = 0; round < 2; ++round) {
    learn(0, decodes, 0);
    learn(32, decodes, kDeep);
    learn(16, decodes, 0);
    learn(0, 1, 0);
    learn(64, 0, 0);
    learn(0, decodes, kDeep);
  }
}

Status check(std::span<const SimRequest> requests, int64_t kv_blocks) {
  double before = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    const SimRequest& r = requests[i];
    const std::string name = "request " + std::to_string(i + 1);
    if (r.prompt < 1 || r.output < 1) {
      return fail(ErrorCode::kInvalidArgument, name + " needs at least one token of prompt and of answer");
    }
    if (blocks_of(r.prompt + r.output) > kv_blocks) {
      return fail(ErrorCode::kInvalidArgument, name + " has " + std::to_string(r.prompt + r.output) +
                                                   " tokens, but the KV cache holds " +
                                                   std::to_string(kv_blocks * kBlockTokens));
    }
    if (!(r.arrival >= before)) return fail(ErrorCode::kInvalidArgument, name + " arrives before the one ahead of it");
    before = r.arrival;
  }
  return {};
}

}  // namespace

StepCost StepCost::of(const sched::CostModel& model) {
  const auto at = [&model](int64_t tokens, double keys, int64_t decodes, double their_keys) {
    return model.predict({tokens, keys, decodes, 0, their_keys});
  };
  StepCost c;
  c.base = at(0, 0, 0, 0);
  c.prefill_token = at(2, 0, 0, 0) - at(1, 0, 0, 0);
  c.prefill = at(1, 0, 0, 0) - c.base - c.prefill_token;
  c.prefill_keys = at(0, 1024, 0, 0) - c.base;
  c.decode_row = at(0, 0, 1, 0) - c.base;
  c.decode_keys = at(0, 0, 0, 1024) - c.base;
  return c;
}

Result<SimRun> run_schedule(std::span<const SimRequest> requests, const sched::Options& options, int64_t kv_blocks,
                            const StepCost& cost, bool keep_steps) {
  if (Status s = check(requests, kv_blocks); !s) return tl::unexpected(s.error());
  BlockCounts memory(kv_blocks, requests.size());
  sched::Scheduler scheduler(options, memory);
  calibrate(scheduler, cost, options.max_sequences);
  SimRun run;
  run.tokens.resize(requests.size());
  std::vector<sched::Slice> slices;
  double now = 0;
  for (size_t next = 0;;) {
    for (; next < requests.size() && requests[next].arrival <= now; ++next) {
      scheduler.add({next, requests[next].prompt, requests[next].priority, requests[next].arrival});
    }
    const sched::Plan& plan = scheduler.plan(now);
    run.preemptions += std::ssize(plan.preempted);
    if (plan.slices.empty()) {
      if (next == requests.size()) break;
      now = std::max(now, requests[next].arrival);
      continue;
    }
    const double seconds = cost(plan.shape), begin = now;
    // A plain step that was predicted right has nothing to teach; there are millions of them in a day.
    const bool known = plan.shape.prefill_tokens == 0 && std::fabs(plan.predicted_seconds - seconds) < 1e-3 * seconds;
    slices = plan.slices;  // remove() takes them out of the plan
    now += seconds;
    scheduler.completed();
    for (const sched::Slice& slice : slices) {
      if (!slice.last) continue;
      std::vector<double>& tokens = run.tokens[slice.id];
      tokens.push_back(now);
      if (std::ssize(tokens) == requests[slice.id].output) {
        scheduler.remove(slice.id);
      } else {
        scheduler.append(slice.id);
      }
    }
    if (!known) scheduler.measured(seconds);
    ++run.step_count;
    run.busy += seconds;
    if (keep_steps) run.steps.push_back({begin, now, slices});
  }
  TOCCATA_CHECK(scheduler.idle());
  run.end = now;
  return run;
}

std::vector<SimRequest> arrivals(const Traffic& t) {
  std::vector<SimRequest> requests;
  const auto chance = [&t](uint32_t what, size_t i) { return rng::uniform(t.seed, i, rng::Purpose::kTest, what); };
  const auto length = [](int64_t mean, double u) {
    return std::max<int64_t>(1, std::llround(static_cast<double>(mean) * (0.5 + u)));
  };
  double now = 0;
  for (size_t i = 0;; ++i) {
    now += -std::log(1 - chance(0, i)) / t.per_second;
    if (!(now < t.seconds)) return requests;
    requests.push_back({now, length(t.prompt, chance(1, i)), length(t.output, chance(2, i)), 0});
  }
}

Latencies Latencies::of(std::span<const SimRequest> requests, const SimRun& run) {
  Latencies l;
  for (size_t i = 0; i < requests.size(); ++i) {
    l.ttft.push_back(run.ttft(i, requests[i]));
    for (size_t k = 1; k < run.tokens[i].size(); ++k) l.itl.push_back(run.tokens[i][k] - run.tokens[i][k - 1]);
  }
  std::sort(l.ttft.begin(), l.ttft.end());
  std::sort(l.itl.begin(), l.itl.end());
  return l;
}

double deviation(std::span<const double> values) {
  double sum = 0, squares = 0;
  for (const double x : values) sum += x;
  const double n = static_cast<double>(values.size()), mean = values.empty() ? 0 : sum / n;
  for (const double x : values) squares += (x - mean) * (x - mean);
  return values.empty() ? 0 : std::sqrt(squares / n);
}

double percentile(std::span<const double> sorted, double percent) {
  if (sorted.empty()) return 0;
  const double k = static_cast<double>(sorted.size() - 1) * percent / 100;
  const auto low = static_cast<size_t>(k), high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (k - static_cast<double>(low));
}

}  // namespace toccata::sim
