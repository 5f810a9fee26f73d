#include "server/openai/answer_writer.h"

#include <ctime>
#include <random>

#include <boost/json.hpp>

namespace toccata::server {
namespace json = boost::json;

namespace {

std::string sse(const json::object& o) { return "data: " + json::serialize(o) + "\n\n"; }

TokenId control_token(const Tokenizer& tokenizer, std::string_view text) {
  if (text.empty()) return -1;
  const std::vector<TokenId> ids = tokenizer.encode(text, {.parse_special = true, .add_special = false});
  return ids.size() == 1 && tokenizer.token_type(ids[0]) == TokenType::kControl ? ids[0] : -1;
}

}  // namespace

std::string random_id(std::string_view prefix) {
  constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::string id(prefix);
  for (int i = 0; i < 24; ++i) id += kLetters[random() % kLetters.size()];
  return id;
}

AnswerWriter::AnswerWriter(const ApiRequest& request, const TextSide& text) : request_(request), text_(text) {
  head_.id = random_id(request.chat ? "chatcmpl-" : "cmpl-");
  head_.model = request.model;
  head_.created = static_cast<int64_t>(std::time(nullptr));
  head_.chat = request.chat;
  head_.stream = request.stream;
  marker_ = control_token(*text.tokenizer, tool_marker(request.tools));
  choices_.assign(static_cast<size_t>(request.choices()), Choice(request.tools));
}

json::object AnswerWriter::choice_object(size_t index, json::object part, json::value logprobs,
                                         json::value finish) const {
  json::object o;
  o["index"] = index;
  if (!request_.chat) {
    o["text"] = std::move(part["text"]);
  } else {
    o[request_.stream ? "delta" : "message"] = std::move(part);
  }
  o["logprobs"] = std::move(logprobs);
  o["finish_reason"] = std::move(finish);
  return o;
}

std::string AnswerWriter::event(json::object choice) {
  json::object o = answer_object(head_);
  o["choices"] = json::array{std::move(choice)};
  if (request_.include_usage) o["usage"] = nullptr;
  return sse(o);
}

json::object AnswerWriter::text_part(std::string_view text) const {
  return {{request_.chat ? "content" : "text", text}};
}

json::value AnswerWriter::logprobs_of(Choice& choice, std::span<const TokenOutput> tokens, size_t without) const {
  if (request_.logprobs < 0) return nullptr;
  if (request_.chat) return chat_logprobs(tokens, *text_.tokenizer);
  return completion_logprobs(tokens, *text_.tokenizer, choice.offset, without);
}

std::string AnswerWriter::begin() {
  std::string out;
  for (size_t i = 0; i < choices_.size() && request_.stream; ++i) {
    if (request_.chat) {
      out += event(choice_object(i, {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr));
    } else if (request_.echo && request_.logprobs < 0) {
      out += echo_event(i);
    }
  }
  return out;
}

std::string AnswerWriter::echo_event(size_t index) {
  Choice& c = choices_[index];
  const std::string& text = request_.echo_texts[index / static_cast<size_t>(request_.n)];
  return event(choice_object(index, text_part(text), logprobs_of(c, c.prompt, 1), nullptr));
}

std::string AnswerWriter::prompt_logprobs(size_t index, std::vector<TokenOutput> tokens) {
  Choice& c = choices_[index];
  c.prompt.assign(1, TokenOutput{request_.prompts[index / static_cast<size_t>(request_.n)].prompt.front(), 0, {}});
  c.prompt.insert(c.prompt.end(), tokens.begin(), tokens.end());
  return request_.stream && request_.echo ? echo_event(index) : "";
}

std::string AnswerWriter::tokens(size_t index, std::vector<TokenOutput> tokens, const std::string& text) {
  Choice& c = choices_[index];
  ToolCallParser::Output output;
  for (const TokenOutput& t : tokens) {
    if (marker_ >= 0 && t.token == marker_) output.text += c.parser.marker().text;
  }
  ToolCallParser::Output more = c.parser.push(text);
  output.text += more.text;
  output.calls = std::move(more.calls);
  if (request_.logprobs < 0) tokens.clear();
  return add(index, std::move(output), std::move(tokens));
}

std::string AnswerWriter::add(size_t index, ToolCallParser::Output output, std::vector<TokenOutput> tokens) {
  Choice& c = choices_[index];
  std::string out;
  if (request_.stream) {
    if (!output.text.empty() || !tokens.empty()) {
      out += event(choice_object(index, text_part(output.text), logprobs_of(c, tokens), nullptr));
    }
  } else {
    c.text += output.text;
    c.tokens.insert(c.tokens.end(), std::make_move_iterator(tokens.begin()), std::make_move_iterator(tokens.end()));
  }
  for (const ToolCall& call : output.calls) {
    json::object o = tool_call_object(call, random_id("call_"), c.call_count++, request_.stream);
    if (request_.stream)
      out += event(choice_object(index, {{"tool_calls", json::array{std::move(o)}}}, nullptr, nullptr));
    else
      c.calls.push_back(std::move(o));
  }
  return out;
}

std::string AnswerWriter::finish(size_t index, FinishReason reason, const RequestReport& report) {
  Choice& c = choices_[index];
  std::string out = add(index, c.parser.finish(), {});
  c.reason = reason;
  c.report = report;
  if (!request_.stream) return out;
  json::object part = request_.chat ? json::object() : text_part("");
  return out + event(choice_object(index, std::move(part), nullptr, finish_value(reason, c.call_count > 0)));
}

Usage AnswerWriter::usage() const {
  Usage u;
  for (size_t i = 0; i < choices_.size(); ++i) {
    const RequestReport& r = choices_[i].report;
    u.completion_tokens += r.generated_tokens;
    u.drafted_tokens += r.drafted_tokens;
    u.accepted_tokens += r.accepted_tokens;
    u.kv_evicts |= r.kv_evicts;
    u.kv_tokens += r.kv_tokens;
    u.kv_evicted_tokens += r.kv_evicted_tokens;
    u.kv_bytes += static_cast<int64_t>(r.kv_bytes);
    if (i % static_cast<size_t>(request_.n) != 0) continue;  // the prompt is one, however many choices
    u.prompt_tokens += static_cast<int64_t>(request_.prompts[i / static_cast<size_t>(request_.n)].prompt.size());
    u.cached_tokens += r.cached_tokens;
  }
  return u;
}

std::string AnswerWriter::end() {
  if (!request_.stream) return "";
  std::string out;
  if (request_.include_usage) {
    json::object o = answer_object(head_);
    o["choices"] = json::array();
    o["usage"] = usage_object(usage());
    out = sse(o);
  }
  return out + "data: [DONE]\n\n";
}

json::object AnswerWriter::message_part(Choice& c) const {
  json::object message{{"role", "assistant"}};
  if (c.text.empty() && c.call_count > 0)
    message["content"] = nullptr;
  else
    message["content"] = c.text;
  message["refusal"] = nullptr;
  if (c.call_count > 0) message["tool_calls"] = std::move(c.calls);
  return message;
}

json::object AnswerWriter::whole_choice(size_t index) {
  Choice& c = choices_[index];
  json::object part;
  if (request_.chat) {
    part = message_part(c);
  } else {
    if (request_.echo) c.text.insert(0, request_.echo_texts[index / static_cast<size_t>(request_.n)]);
    part = text_part(c.text);
  }
  const size_t without = c.prompt.empty() ? 0 : 1;
  c.prompt.insert(c.prompt.end(), c.tokens.begin(), c.tokens.end());
  json::value logprobs = logprobs_of(c, c.prompt, without);
  return choice_object(index, std::move(part), std::move(logprobs), finish_value(c.reason, c.call_count > 0));
}

std::string AnswerWriter::body() {
  json::object o = answer_object(head_);
  json::array choices;
  for (size_t i = 0; i < choices_.size(); ++i) choices.push_back(whole_choice(i));
  o["choices"] = std::move(choices);
  o["usage"] = usage_object(usage());
  return json::serialize(o);
}

std::string AnswerWriter::error_events(const std::string& error_json) {
  return "data: " + error_json + "\n\ndata: [DONE]\n\n";
}

}  // namespace toccata::server
