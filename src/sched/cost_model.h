// Predicts the time of a step from its counts, fitted online to the steps that were measured.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace toccata::sched {

// What a step costs depends on: tokens of prompts, the keys they look at, running decodes, the keys those look at.
struct StepShape {
  int64_t prefill_tokens = 0;
  double prefill_keys = 0;  // sum over prefill tokens of the keys before each
  int64_t decodes = 0;
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
};

}  // namespace toccata::sched
