#include <array>
#include <string>

#include "toccata/speculation.h"

namespace toccata {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"off", "ngram", "suffix", "model", "auto"};  // by SpecMethod

}  // namespace

std::string_view spec_method_name(SpecMethod method) { return kNames[static_cast<size_t>(method)]; }

std::optional<SpecMethod> spec_method(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<SpecMethod>(i);
  }
  return std::nullopt;
}

Status SpeculationParams::validate() const {
  if (static_cast<size_t>(method) >= kNames.size()) {
    return fail(ErrorCode::kInvalidArgument, "speculative: there is no such method");
  }
  if (num_tokens < 0 || num_tokens > kMostTokens) {
    return fail(ErrorCode::kInvalidArgument, "speculative: num_tokens must be 1 to " + std::to_string(kMostTokens) +
                                                 ", or 0 for auto" + ", not " + std::to_string(num_tokens));
  }
  return {};
}

}  // namespace toccata
