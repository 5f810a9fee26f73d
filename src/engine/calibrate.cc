#include "engine/calibrate.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"

namespace toccata::engine {
namespace {

constexpr int64_t kBlock = kernels::kKvBlock;
constexpr int64_t kDecodes = 8;
constexpr int64_t kLongest = 64;   // prompt tokens
constexpr int64_t kDeep = 1024;    // keys that make attention's share visible
constexpr double kOnceMore = 0.3;  // of the time limit: a second round begins before

struct StepPlan {
  int64_t prefill = 0;
  int64_t decodes = 0;
  bool deep = false;
};

class Calibration {
 public:
  Calibration(model::ModelRunner& runner, kv::Pool& pool, float* logits, const CalibrationLimits& limits)
      : runner_(runner), pool_(pool), logits_(logits), decodes_(std::min(kDecodes, limits.sequences)) {
    const int64_t own = kLongest / kBlock + decodes_;  // blocks that steps write to
    const int64_t deep = std::min({kDeep, limits.context - kLongest, (pool.free_blocks() - own) * kBlock});
    if (deep < 0 || kLongest + decodes_ > runner.options().max_rows || decodes_ > runner.options().max_logit_rows)
      return;
    depth_ = deep / kBlock;
    while (static_cast<int64_t>(blocks_.size()) < depth_ + own) blocks_.push_back(*pool.allocate());
    tokens_.assign(kLongest, 0);
    enough_ = true;
  }
  ~Calibration() {
    for (const kv::BlockId b : blocks_) pool_.release(b);
  }
  Calibration(const Calibration&) = delete;
  Calibration& operator=(const Calibration&) = delete;

  bool enough() const { return enough_; }

  // False: the model failed.
  bool run(const StepPlan& plan, sched::StepShape& shape, double& seconds) {
    const int64_t context = plan.deep ? depth_ * kBlock : 0;
    shape = {};
    spans_.clear();
    tables_.clear();
    tables_.reserve(static_cast<size_t>(kDecodes) + 1);  // spans point into it
    // The keys before are shared, what is written is each span's own.
    auto own = blocks_.begin() + static_cast<std::ptrdiff_t>(depth_);
    const auto add = [&](int64_t count, int64_t blocks, int32_t logits_from) {
      tables_.emplace_back(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(context / kBlock));
      tables_.back().insert(tables_.back().end(), own, own + static_cast<std::ptrdiff_t>(blocks));
      own += static_cast<std::ptrdiff_t>(blocks);
      spans_.push_back(
          {tables_.back().data(), context, std::span(tokens_).first(static_cast<size_t>(count)), logits_from});
    };
    for (int64_t i = 0; i < plan.decodes; ++i) {
      add(1, 1, 0);
      shape.add_decode(context);
    }
    if (plan.prefill > 0) {
      add(plan.prefill, kLongest / kBlock, -1);
      shape.add_prefill(context, plan.prefill);
    }
    const double begin = monotonic_seconds();
    const bool ok = runner_.forward({spans_}, pool_, logits_).has_value();
    seconds = monotonic_seconds() - begin;
    return ok;
  }

 private:
  model::ModelRunner& runner_;
  kv::Pool& pool_;
  float* logits_;
  int64_t decodes_, depth_ = 0;
  bool enough_ = false;
  std::vector<kv::BlockId> blocks_;
  std::vector<std::vector<kv::BlockId>> tables_;
  std::vector<int32_t> tokens_;
  std::vector<model::SpanInput> spans_;
};

}  // namespace

void calibrate(model::ModelRunner& runner, kv::Pool& pool, float* logits, const CalibrationLimits& limits,
               const std::function<void(const sched::StepShape&, double)>& report) {
  Calibration calibration(runner, pool, logits, limits);
  if (!calibration.enough()) return;
  const int64_t decodes = std::min(kDecodes, limits.sequences);
  // What tells most comes first: a slow model has time for a few only.
  const StepPlan plans[] = {{0, decodes, false}, {kLongest / 2, decodes, true}, {kLongest / 4, decodes, false},
                            {0, 1, false},       {kLongest, 0, false},          {0, decodes, true}};
  const double begin = monotonic_seconds();
  const auto elapsed = [begin] { return monotonic_seconds() - begin; };
  sched::StepShape shape;
  double seconds = 0;
  if (!calibration.run(plans[0], shape, seconds)) return;  // page faults and cold caches: no report
  for (int round = 0; round < 2; ++round) {
    for (const StepPlan& plan : plans) {
      if (elapsed() > limits.seconds) return;
      if (!calibration.run(plan, shape, seconds)) return;
      report(shape, seconds);
    }
    if (elapsed() > kOnceMore * limits.seconds) return;
  }
}

}  // namespace toccata::engine
