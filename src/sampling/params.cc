#include "toccata/sampling_params.h"

#include <cmath>
#include <string>
#include <string_view>

namespace toccata {
namespace {

Status bad(std::string_view name, std::string_view range) {
  return fail(ErrorCode::kInvalidArgument, std::string(name) + " must be " + std::string(range));
}

}  // namespace

Status SamplingParams::validate(int32_t vocab) const {
  // Written so that a NaN fails each test.
  if (!(temperature >= 0 && temperature <= 100)) return bad("temperature", "0 to 100");
  if (!(top_p > 0 && top_p <= 1)) return bad("top_p", "above 0 and at most 1");
  if (!(min_p >= 0 && min_p <= 1)) return bad("min_p", "0 to 1");
  if (!(typical_p > 0 && typical_p <= 1)) return bad("typical_p", "above 0 and at most 1");
  if (!(repetition_penalty > 0 && repetition_penalty <= 100)) {
    return bad("repetition_penalty", "above 0 and at most 100");
  }
  if (!(std::fabs(presence_penalty) <= 100)) return bad("presence_penalty", "-100 to 100");
  if (!(std::fabs(frequency_penalty) <= 100)) return bad("frequency_penalty", "-100 to 100");
  if (penalty_last_n < -1) return bad("penalty_last_n", "-1 or more");
  if (logprobs < -1 || logprobs > vocab) return bad("logprobs", "-1 to " + std::to_string(vocab));
  for (const auto& [token, bias] : logit_bias) {
    if (token < 0 || token >= vocab) {
      return bad("a token of logit_bias", "0 to " + std::to_string(vocab - 1) + ", not " + std::to_string(token));
    }
    if (!(bias < INFINITY)) return bad("a bias of logit_bias", "a number below infinity");
  }
  return {};
}

}  // namespace toccata
