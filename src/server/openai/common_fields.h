// The fields that both completion endpoints share.
#pragma once

#include "server/json_fields.h"
#include "server/openai/api_request.h"

namespace toccata::server {

// Fills request.model, n, stream, include_usage and `shared`, from which each prompt's request is made. Faults go to
// `fields`.
void read_common(JsonFields& fields, const TextSide& text, const ApiLimits& limits, ApiRequest& request,
                 Request& shared);

// 404 unless the served names have it; an absent name is the first one.
ApiResult<std::string> served_model(JsonFields& fields, const TextSide& text);

// Token ids of an array; each must be in [0, vocab).
ApiResult<std::vector<int32_t>> token_array(const boost::json::array& array, const std::string& param, int32_t vocab);

}  // namespace toccata::server
