// HTTP requests: whatever arrives, the parser stays within its limits, and how the bytes are cut changes nothing.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "server/http/request_parser.h"

using toccata::server::ParserLimits;
using toccata::server::RequestParser;
using State = RequestParser::State;

namespace {

struct Outcome {
  State state;
  std::string method, target, body, rest;
};

Outcome parse(const std::string& bytes, size_t piece, const ParserLimits& limits) {
  RequestParser parser(limits);
  std::string input;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    input.append(bytes, at, piece);
    for (State before = State::kError; before != parser.state();) {
      before = parser.state();
      parser.feed(input);
    }
    TOCCATA_CHECK(parser.request().body.size() <= limits.body);
    TOCCATA_CHECK(parser.state() != State::kHead || input.size() <= limits.head + piece);
  }
  return {parser.state(), parser.request().method, parser.request().target, parser.request().body, input};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  ParserLimits limits;
  limits.head = 2048;
  limits.target = 256;
  limits.body = 512;
  const Outcome whole = parse(bytes, bytes.size() + 1, limits), pieces = parse(bytes, 1 + data[0] % 16, limits);
  if (bytes.size() >= limits.head) return 0;  // which limit is met first may depend on the pieces
  // A fault in a line that is not complete may be seen earlier or later.
  TOCCATA_CHECK((whole.state == State::kComplete) == (pieces.state == State::kComplete));
  if (whole.state != State::kComplete) return 0;
  TOCCATA_CHECK(whole.method == pieces.method && whole.target == pieces.target);
  TOCCATA_CHECK(whole.body == pieces.body && whole.rest == pieces.rest);
  return 0;
}
