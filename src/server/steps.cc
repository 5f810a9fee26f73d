// /debug/steps: the engine's latest steps, for a timeline.
#include <charconv>

#include <boost/json.hpp>

#include "server/service.h"

namespace toccata::server {
namespace json = boost::json;

namespace {

json::object step_object(const StepRecord& s) {
  return {{"number", s.number},           {"start", s.start},
          {"seconds", s.seconds},         {"decode", s.decodes},
          {"prefill", s.prefill_tokens},  {"drafted", s.drafted_tokens},
          {"accepted", s.accepted_tokens}};
}

// The query is nothing, or "after=NUMBER".
ApiResult<uint64_t> parse_after(std::string_view query) {
  constexpr std::string_view kName = "after=";
  if (query.empty()) return 0;
  uint64_t number = 0;
  if (query.starts_with(kName)) {
    const char *begin = query.data() + kName.size(), *end = query.data() + query.size();
    const std::from_chars_result parsed = std::from_chars(begin, end, number);
    if (parsed.ec == std::errc() && parsed.ptr == end) return number;
  }
  return tl::unexpected(bad_param("after", "the query must be after=N, N the number of a step"));
}

}  // namespace

void Service::steps(const std::shared_ptr<Exchange>& e) {
  const ApiResult<uint64_t> after = parse_after(e->request().query);
  if (!after) return e->respond(error_response(after.error()));
  const RecentSteps recent = engine_.load()->steps(*after);
  json::array steps;
  for (const StepRecord& s : recent.steps) steps.push_back(step_object(s));
  HttpResponse response;
  response.body = json::serialize(json::object{{"now", recent.now}, {"steps", std::move(steps)}});
  e->respond(std::move(response));
}

}  // namespace toccata::server
