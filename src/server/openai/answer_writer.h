// Turns what the engine says about the choices of one request into the bytes that the client gets: one JSON body, or
// server-sent events.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "server/openai/answer_json.h"
#include "server/openai/api_request.h"

namespace toccata::server {

class AnswerWriter {
 public:
  // Both must outlive the writer.
  AnswerWriter(const ApiRequest& request, const TextSide& text);

  // Each returns events to send now; always "" unless the request streams.
  std::string begin();
  std::string prompt_logprobs(size_t choice, std::vector<TokenOutput> tokens);
  std::string tokens(size_t choice, std::vector<TokenOutput> tokens, const std::string& text);
  std::string finish(size_t choice, FinishReason reason, const RequestReport& report);
  std::string end();   // after the last choice has finished
  std::string body();  // the whole answer, when the request does not stream

  // An error in the middle of a stream, and its end.
  static std::string error_events(const std::string& error_json);

 private:
  struct Choice {
    explicit Choice(ToolFormat format) : parser(format) {}
    ToolCallParser parser;
    std::string text;
    std::vector<TokenOutput> prompt, tokens;  // for the log-probabilities
    boost::json::array calls;
    int64_t call_count = 0;
    int64_t offset = 0;  // characters of the answer so far, for text_offset
    FinishReason reason = FinishReason::kStop;
    RequestReport report;
  };
  std::string event(boost::json::object choice);
  std::string echo_event(size_t choice);
  std::string add(size_t choice, ToolCallParser::Output output, std::vector<TokenOutput> tokens);
  boost::json::object choice_object(size_t index, boost::json::object part, boost::json::value logprobs,
                                    boost::json::value finish) const;
  boost::json::object whole_choice(size_t index);
  boost::json::object text_part(std::string_view text) const;
  boost::json::object message_part(Choice& choice) const;
  boost::json::value logprobs_of(Choice& choice, std::span<const TokenOutput> tokens, size_t without = 0) const;
  Usage usage() const;

  const ApiRequest& request_;
  const TextSide& text_;
  AnswerHead head_;
  TokenId marker_ = -1;  // the control token that begins tool calls
  std::vector<Choice> choices_;
};

// Random letters and digits behind a prefix.
std::string random_id(std::string_view prefix);

}  // namespace toccata::server
