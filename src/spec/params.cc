#include <array>
#include <string>

#include "toccata/speculation.h"

namespace toccata {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"off", "ngram", "suffix", "model", "auto"};  // by SpecMethod
constexpr std::array<std::string_view, 2> kVerifyNames = {"coupled", "rejection"};               // by SpecVerify

template <class Enum, size_t N>
std::optional<Enum> find(const std::array<std::string_view, N>& names, std::string_view name) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view spec_method_name(SpecMethod method) { return kNames[static_cast<size_t>(method)]; }

std::optional<SpecMethod> spec_method(std::string_view name) { return find<SpecMethod>(kNames, name); }

std::string_view spec_verify_name(SpecVerify verify) { return kVerifyNames[static_cast<size_t>(verify)]; }

std::optional<SpecVerify> spec_verify(std::string_view name) { return find<SpecVerify>(kVerifyNames, name); }

Status SpeculationParams::validate() const {
  if (static_cast<size_t>(method) >= kNames.size()) {
    return fail(ErrorCode::kInvalidArgument, "speculative: there is no such method");
  }
  if (static_cast<size_t>(verify) >= kVerifyNames.size()) {
    return fail(ErrorCode::kInvalidArgument, "speculative: there is no such verification");
  }
  if (num_tokens < 0 || num_tokens > kMostTokens) {
    return fail(ErrorCode::kInvalidArgument, "speculative: num_tokens must be 1 to " + std::to_string(kMostTokens) +
                                                 ", or 0 for auto" + ", not " + std::to_string(num_tokens));
  }
  return {};
}

}  // namespace toccata
