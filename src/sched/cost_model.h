// Predicts the time of a step from its counts, fitted online to the steps that were measured.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace toccata::sched {

// What a step costs depends on: tokens of prompts, the keys they look at, running decodes and the drafted tokens that
// are verified behind them, the keys those look at.
struct StepShape {
  int64_t prefill_tokens = 0;
  double prefill_keys = 0;  // sum over prefill tokens of the keys before each
  int64_t decodes = 0;
  int64_t drafted = 0;
  double decode_keys = 0;

  // `count` prompt tokens after `context` earlier ones.
  void add_prefill(int64_t context, int64_t count) {
    prefill_tokens += count;
    prefill_keys += static_cast<double>(count) * (static_cast<double>(context) + static_cast<double>(count) * 0.5);
  }
  void add_decode(int64_t context) {
    ++decodes;
    decode_keys += static_cast<double>(context);
  }
  // `count` drafted tokens behind a decode at `context`.
  void add_draft(int64_t context, int64_t count) {
    drafted += count;
    decode_keys += static_cast<double>(count) * (static_cast<double>(context) + static_cast<double>(count + 1) * 0.5);
  }
  int64_t rows() const { return prefill_tokens + decodes + drafted; }
};

// t = a + p [any prefill tokens] + b * prefill tokens + c * their keys + d * (decodes + drafted tokens) + e * their
// keys, no coefficient below zero: each of them is work that takes time.
//
// The fit minimises relative errors over recent samples. They are kept by kind of step (a ring for each range of
// prefill tokens or, without those, of decodes), so that thousands of plain decode steps do not wash out what is known
// about prompts. Older samples weigh less (the machine's speed drifts), and errors beyond 25 % only grow linearly (a
// step may be disturbed). A fit is some 10,000 operations, a few microseconds; observe() does it.
class CostModel {
 public:
  void observe(const StepShape& shape, double seconds);
  bool ready() const { return samples_ > 0; }
  double predict(const StepShape& shape) const;                 // seconds; 0 before the first sample
  int64_t largest_prefill() const { return largest_prefill_; }  // tokens, of any sample so far

 private:
  static constexpr size_t kTerms = 6, kKinds = 13, kRing = 24;
  using Terms = std::array<double, kTerms>;
  struct Sample {
    Terms terms{};
    double seconds = 0;  // 0: none yet
    uint64_t number = 0;
  };
  static Terms terms_of(const StepShape& shape);
  static size_t kind_of(const StepShape& shape);
  double value(const Terms& terms) const;
  void fit();
  void solve(const std::array<Terms, kTerms>& gram, const Terms& moment);

  std::array<std::array<Sample, kRing>, kKinds> samples_by_kind_{};
  std::array<size_t, kKinds> next_{};
  uint64_t samples_ = 0;
  int64_t largest_prefill_ = 0;
  Terms coefficients_{};
};

}  // namespace toccata::sched
