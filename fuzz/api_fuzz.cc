// Bodies of the API: each is refused with a parameter's name or gives requests that the engine accepts.
#include <cstdint>
#include <string_view>

#include <boost/json.hpp>

#include "base/check.h"
#include "server/json_fields.h"
#include "server/openai/api_request.h"
#include "server/openai/tool_calls.h"
#include "server/service.h"
#include "server/testing.h"

using namespace toccata::server;

namespace {

void check(const ApiResult<ApiRequest>& request, const ApiLimits& limits) {
  if (!request) {
    TOCCATA_CHECK(request.error().status >= 400 && request.error().status < 500);
    TOCCATA_CHECK(!request.error().message.empty());
    (void)error_json(request.error());
    return;
  }
  TOCCATA_CHECK(request->n >= 1 && request->choices() <= limits.max_choices);
  for (int64_t i = 0; i < request->choices(); ++i) {
    const toccata::Request r = request->request(i);
    TOCCATA_CHECK(!r.prompt.empty() && r.max_tokens >= -1 && r.timeout_seconds >= 0);
    TOCCATA_CHECK(r.sampling.validate(limits.vocab).has_value());
    for (const int32_t id : r.prompt) TOCCATA_CHECK(id >= 0 && id < limits.vocab);
    for (const std::string& stop : r.stop) TOCCATA_CHECK(!stop.empty());
  }
}

// Nothing that is no call may get lost or change, wherever the text is cut.
void tool_calls(std::string_view text, ToolFormat format, size_t cut) {
  const auto parse = [&](size_t at) {
    ToolCallParser parser(format);
    std::string shown, calls;
    for (const auto& o : {parser.push(text.substr(0, at)), parser.push(text.substr(at)), parser.finish()}) {
      shown += o.text;
      for (const ToolCall& c : o.calls) calls += "\1" + c.name + "\1" + c.arguments;
    }
    return shown + calls;
  };
  TOCCATA_CHECK(parse(0) == parse(cut));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const TextSide text = test_text(kChatMl);
  ApiLimits limits;
  limits.context = 1000;
  limits.vocab = 259;
  limits.max_choices = 8;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = size > 0 ? data[0] % size : 0;
  for (const ToolFormat f : {ToolFormat::kHermes, ToolFormat::kMistral, ToolFormat::kLlama3}) tool_calls(input, f, cut);
  const auto body = parse_body(input);
  if (!body) return 0;
  check(parse_completion(*body, text, limits), limits);
  check(parse_chat(*body, text, limits), limits);
  (void)tokenize_body(*body, text, limits);
  (void)detokenize_body(*body, text, limits);
  return 0;
}
