// What /metrics shows: counters and histograms kept here, gauges taken from the engine when somebody asks.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "toccata/engine.h"

namespace toccata::server {

class Histogram {
 public:
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}
  void observe(double value);
  // Prometheus' text: _bucket, _sum and _count with the labels.
  void write(std::string& out, const std::string& name, const std::string& labels) const;

 private:
  std::span<const double> bounds_;  // ascending
  std::vector<uint64_t> counts_;
  double sum_ = 0;
};

class Metrics {
 public:
  Metrics();
  // From any thread.
  void first_tokens(size_t count, double seconds);  // seconds since the request's arrival
  void more_tokens(size_t count, double seconds);   // since the tokens before
  void finished(FinishReason reason, const RequestReport& report);
  void answered(int status);

  struct Gauges {
    bool ready = false;
    EngineStats stats;
    int64_t connections = 0, exchanges = 0;
  };
  std::string text(const std::string& model, const Gauges& gauges) const;

 private:
  mutable std::mutex mutex_;
  Histogram first_token_, token_gap_, per_token_, total_, queue_, prefill_, decode_, prompt_, generated_, longest_gap_;
  std::array<uint64_t, 5> finished_{};  // by FinishReason
  uint64_t cached_tokens_ = 0, generated_tokens_ = 0;
  std::array<uint64_t, 6> statuses_{};  // by status / 100
};

}  // namespace toccata::server
