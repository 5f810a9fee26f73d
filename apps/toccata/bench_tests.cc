#include "bench_tests.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "base/clock.h"
#include "base/rng.h"
#include "feed.h"
#include "interrupt.h"
#include "run_report.h"

namespace toccata::cli {
namespace {

constexpr int64_t kStepsPerSample = 8;  // a single step is short against the clock's and the scheduler's noise

std::vector<int32_t> random_tokens(int64_t count, int64_t sequence, int64_t vocab) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  for (size_t i = 0; i < ids.size(); ++i) {
    const double u = rng::uniform(static_cast<uint64_t>(sequence), i, rng::Purpose::kTest);
    ids[i] = static_cast<int32_t>(u * static_cast<double>(vocab));
  }
  return ids;
}

class Run {
 public:
  Run(LoadedModel& m, const BenchTest& test, int64_t chunk) : m_(m), test_(test), chunk_(chunk) {
    for (int64_t s = 0; s < test.batch; ++s) {
      sessions_.emplace_back(*m.runner, *m.pool, m.plan);
      tokens_.push_back(random_tokens(test.length(), s, m.vocab()));
    }
    logits_.resize(static_cast<size_t>(std::max(test.batch, test.rows)) * m.runner->logit_stride());
  }

  Status fill() {
    for (size_t s = 0; s < sessions_.size(); ++s) {
      const int64_t have = sessions_[s].length();
      const Result<bool> whole = feed(sessions_[s], slice(s, have, test_.depth - have), chunk_);
      if (!whole) return tl::unexpected(whole.error());
    }
    return {};
  }

  // One repetition; the sessions are at `depth` before and after.
  Result<double> repeat() {
    for (Session& s : sessions_) s.truncate(test_.depth);
    if (Status s = fill(); !s) return tl::unexpected(s.error());  // where an eviction left no way back
    const double start = monotonic_seconds();
    if (Status s = test_.rows > 0 ? verify_steps() : read_and_decode(); !s) return tl::unexpected(s.error());
    return monotonic_seconds() - start;
  }

  const std::vector<double>& steps() const { return steps_; }

 private:
  std::span<const int32_t> slice(size_t sequence, int64_t begin, int64_t count) const {
    return std::span(tokens_[sequence]).subspan(static_cast<size_t>(begin), static_cast<size_t>(count));
  }

  Status read_and_decode() {
    for (size_t s = 0; s < sessions_.size(); ++s) {
      const Result<bool> whole = feed(sessions_[s], slice(s, test_.depth, test_.prompt), chunk_);
      if (!whole) return tl::unexpected(whole.error());
    }
    for (int64_t i = 0; i < test_.gen && !interrupted(); ++i) {
      if (Status status = step(test_.depth + test_.prompt + i, 1); !status) return status;
    }
    return {};
  }

  Status verify_steps() {
    for (int64_t i = 0; i < kStepsPerSample && !interrupted(); ++i) {
      const double start = monotonic_seconds();
      if (Status status = step(test_.depth, test_.rows); !status) return status;
      steps_.push_back(monotonic_seconds() - start);
      for (Session& s : sessions_) s.truncate(test_.depth);  // the rows are rejected, as it were
      if (Status status = fill(); !status) return status;
    }
    return {};
  }

  // `count` tokens of every sequence in one step, all with logits.
  Status step(int64_t position, int64_t count) {
    spans_.clear();
    for (size_t s = 0; s < sessions_.size(); ++s) {
      if (Status status = sessions_[s].reserve(position + count); !status) return status;
      spans_.push_back(sessions_[s].span(slice(s, position, count), 0));
    }
    if (Status status = m_.runner->forward({spans_}, *m_.pool, logits_.data()); !status) return status;
    for (size_t s = 0; s < sessions_.size(); ++s) sessions_[s].commit(spans_[s].tokens);
    return {};
  }

  LoadedModel& m_;
  const BenchTest& test_;
  int64_t chunk_;
  std::deque<Session> sessions_;
  std::vector<std::vector<int32_t>> tokens_;
  std::vector<model::SpanInput> spans_;
  std::vector<float> logits_;
  std::vector<double> steps_;
};

Work work_of_test(const LoadedModel& m, const BenchTest& t, int64_t chunk) {
  if (t.rows == 0) return work_of(m, t.depth, t.prompt, chunk, t.gen, t.batch);
  Work w = work_of(m, t.depth, t.rows, t.rows, 0, 1);
  w.logit_rows = static_cast<double>(t.rows);
  const double n = static_cast<double>(kStepsPerSample);
  return {w.rows * n, w.logit_rows * n, w.attended * n, w.kv_positions * n, w.weight_reads * n};
}

}  // namespace

std::string BenchTest::name() const {
  std::string s;
  if (rows > 0)
    s = "rows" + std::to_string(rows);
  else if (prompt > 0 && gen > 0)
    s = "pp" + std::to_string(prompt) + "+tg" + std::to_string(gen);
  else
    s = prompt > 0 ? "pp" + std::to_string(prompt) : "tg" + std::to_string(gen);
  if (batch > 1) s += " x" + std::to_string(batch);
  if (depth > 0) s += " @ d" + std::to_string(depth);
  return s;
}

int64_t BenchTest::tokens() const { return rows > 0 ? rows * kStepsPerSample : batch * (prompt + gen); }

std::vector<double> BenchResult::speeds() const {
  std::vector<double> v;
  for (const double s : seconds) v.push_back(static_cast<double>(test.tokens()) / s);
  return v;
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double m = mean(values);
  double sum = 0;
  for (const double v : values) sum += (v - m) * (v - m);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

Result<BenchResult> run_bench_test(LoadedModel& model, const BenchTest& test, int64_t chunk, int64_t repetitions,
                                   const MachineLimits& limits) {
  BenchResult result;
  result.test = test;
  result.limit_seconds = limit_seconds(model, limits, work_of_test(model, test, chunk));
  Run run(model, test, chunk);
  if (Status s = run.fill(); !s) return tl::unexpected(s.error());
  for (int64_t i = -1; i < repetitions && !interrupted(); ++i) {
    const Result<double> seconds = run.repeat();
    if (!seconds) return tl::unexpected(seconds.error());
    if (i >= 0) result.seconds.push_back(*seconds);
  }
  result.step_seconds = percentile(run.steps(), 0.5);
  return result;
}

}  // namespace toccata::cli
