// Speculative decoding: what the engine offers, and what one request may choose. It never changes an answer's tokens
// or log-probabilities unless the verification is chosen that says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "toccata/result.h"

namespace toccata {

// Who proposes the tokens that a step verifies.
enum class SpecMethod : uint8_t {
  kOff,     // nobody: one token per step
  kNgram,   // what followed the latest occurrence of the longest recent run of tokens in the request's own text
  kSuffix,  // what followed all occurrences, by their counts; with a shared corpus also those in earlier answers
  kModel,   // a smaller model of the same vocabulary (EngineOptions::draft_model)
  kAuto,    // whichever of them promises most at each step
};

// Which drafted tokens are kept.
enum class SpecVerify : uint8_t {
  kCoupled,    // those that the model itself would have drawn: the answer is the same as without speculation
  kRejection,  // as often as keeps the model's distribution: another answer, with the same probability, may come out
};

struct SpeculationParams {
  static constexpr int32_t kMostTokens = 32;

  SpecMethod method = SpecMethod::kOff;
  // Verified per step, at most kMostTokens. 0: as many as pay at that moment, by what is known of the drafts and of the
  // cost of a step; none where none does.
  int32_t num_tokens = 0;
  SpecVerify verify = SpecVerify::kCoupled;

  Status validate() const;  // kInvalidArgument that names the parameter and its range
};

// "off", "ngram", "suffix", "model", "auto".
std::string_view spec_method_name(SpecMethod method);
std::optional<SpecMethod> spec_method(std::string_view name);

// "coupled", "rejection".
std::string_view spec_verify_name(SpecVerify verify);
std::optional<SpecVerify> spec_verify(std::string_view name);

}  // namespace toccata
