#include "server/generation.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "server/json_fields.h"
#include "server/testing.h"

namespace toccata::server {
namespace {

namespace json = boost::json;

struct Case {
  TextSide text = test_text(kChatMl);
  FakeEngine engine;
  Metrics metrics;
  std::shared_ptr<FakeExchange> client = std::make_shared<FakeExchange>();

  Case() = default;
  ~Case() { client->leave(); }  // an unfinished generation and its exchange hold each other
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  // `g` must not outlive the run.
  std::shared_ptr<Generation> start(const std::string& body, bool chat = true) {
    ApiLimits limits;
    limits.context = 200;
    limits.vocab = 259;
    const auto object = parse_body(body);
    auto request = chat ? parse_chat(*object, text, limits) : parse_completion(*object, text, limits);
    EXPECT_TRUE(request) << (request ? "" : request.error().message);
    auto g = std::make_shared<Generation>(client, std::move(*request), engine, text, metrics);
    g->start();
    client->run();
    return g;
  }
  void say(RequestId id, const std::string& words) {
    engine.say(id, words);
    client->run();
  }
  void finish(RequestId id, FinishReason reason = FinishReason::kStop) {
    engine.finish(id, reason);
    client->run();
  }
  json::object answer() const { return *parse_body(client->response.body); }
  // The JSON of all events; the last one must be [DONE].
  std::vector<json::object> events() const {
    std::vector<json::object> out;
    std::string_view rest = client->response.body;
    while (!rest.empty()) {
      const size_t end = rest.find("\n\n");
      EXPECT_NE(end, std::string_view::npos);
      EXPECT_TRUE(rest.starts_with("data: ")) << rest;
      const std::string_view data = rest.substr(6, end - 6);
      rest.remove_prefix(end + 2);
      if (data == "[DONE]") {
        EXPECT_TRUE(rest.empty());
        return out;
      }
      const auto object = parse_body(data);
      EXPECT_TRUE(object) << data;
      out.push_back(*object);
    }
    ADD_FAILURE() << "no [DONE]";
    return out;
  }
};

constexpr const char* kAsk = R"({"messages":[{"role":"user","content":"hi"}])";
std::string ask(const std::string& members) { return std::string(kAsk) + members + "}"; }

std::string str(const json::value& v) { return std::string(v.as_string()); }

TEST(Generation, AnswersAChat) {
  Case run;
  run.start(ask(R"(,"seed":5)"));
  run.say(1, "Hello");
  EXPECT_FALSE(run.client->closed());
  run.finish(1);
  const json::object o = run.answer();
  EXPECT_EQ(str(o.at("object")), "chat.completion");
  const json::object& choice = o.at("choices").at(0).as_object();
  EXPECT_EQ(str(choice.at("message").at("content")), "Hello");
  EXPECT_EQ(str(choice.at("finish_reason")), "stop");
  EXPECT_TRUE(choice.at("logprobs").is_null());
  EXPECT_EQ(o.at("usage").at("completion_tokens"), 5);
  EXPECT_EQ(o.at("usage").at("prompt_tokens_details").at("cached_tokens"), 3);
  const json::object& drafted = o.at("usage").at("completion_tokens_details").as_object();
  EXPECT_EQ(drafted.at("accepted_prediction_tokens"), 4);
  EXPECT_EQ(drafted.at("rejected_prediction_tokens"), 5);
  EXPECT_EQ(o.at("usage").at("prompt_tokens").as_int64() + 5, o.at("usage").at("total_tokens").as_int64());
}

TEST(Generation, StreamsAChat) {
  Case run;
  run.start(ask(R"(,"stream":true,"stream_options":{"include_usage":true})"));
  EXPECT_EQ(run.client->response.content_type.substr(0, 17), "text/event-stream");
  run.say(1, "Hi!");
  run.finish(1, FinishReason::kLength);
  const auto events = run.events();
  ASSERT_EQ(events.size(), 6u);  // role, three tokens, the end, usage
  EXPECT_EQ(str(events[0].at("choices").at(0).at("delta").at("role")), "assistant");
  std::string text;
  for (size_t i = 0; i < 5; ++i) {
    const json::object& choice = events[i].at("choices").at(0).as_object();
    if (choice.at("delta").as_object().contains("content")) text += str(choice.at("delta").at("content"));
    EXPECT_EQ(choice.at("finish_reason").is_null(), i < 4);
    EXPECT_TRUE(events[i].at("usage").is_null());
    EXPECT_EQ(events[i].at("id"), events[0].at("id"));
    EXPECT_EQ(str(events[i].at("object")), "chat.completion.chunk");
  }
  EXPECT_EQ(text, "Hi!");
  EXPECT_EQ(str(events[4].at("choices").at(0).at("finish_reason")), "length");
  EXPECT_TRUE(events[5].at("choices").as_array().empty());
  EXPECT_EQ(events[5].at("usage").at("completion_tokens"), 3);
}

TEST(Generation, WithoutIncludeUsageThereIsNone) {
  Case run;
  run.start(ask(R"(,"stream":true)"));
  run.finish(1);
  for (const json::object& e : run.events()) {
    EXPECT_FALSE(e.contains("usage"));
    EXPECT_FALSE(e.at("choices").as_array().empty());
  }
}

TEST(Generation, KeepsChoicesApart) {
  for (const bool stream : {false, true}) {
    Case run;
    run.start(R"({"prompt":["a","b"],"n":2)" + std::string(stream ? R"(,"stream":true})" : "}"), false);
    ASSERT_EQ(run.engine.submitted(), 4u);
    for (const RequestId id : {3, 1, 4, 2}) {
      run.say(id, "x" + std::to_string(id));
      run.finish(id, id == 2 ? FinishReason::kLength : FinishReason::kStop);
    }
    std::string texts[4], reasons[4];
    const auto take = [&](const json::object& part) {
      for (const json::value& c : part.at("choices").as_array()) {
        const auto i = static_cast<size_t>(c.at("index").to_number<int64_t>());
        texts[i] += str(c.at("text"));
        if (!c.at("finish_reason").is_null()) reasons[i] += str(c.at("finish_reason"));
      }
    };
    if (stream) {
      for (const json::object& e : run.events()) take(e);
    } else {
      take(run.answer());
      EXPECT_EQ(run.answer().at("usage").at("prompt_tokens"), 2) << "each prompt counts once";
      EXPECT_EQ(run.answer().at("usage").at("completion_tokens"), 8);
    }
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(texts[i], "x" + std::to_string(i + 1));
      EXPECT_EQ(reasons[i], i == 1 ? "length" : "stop");
    }
  }
}

TEST(Generation, EchoAndLogprobs) {
  for (const bool stream : {false, true}) {
    Case run;
    run.start(R"({"prompt":"ab","echo":true,"logprobs":2)" + std::string(stream ? R"(,"stream":true})" : "}"), false);
    EXPECT_EQ(run.engine.requests[0].prompt_logprobs, 2);
    run.engine.listener(1)->on_prompt_logprobs({{'b', -0.25f, {{'b', -0.25f}}}});
    run.say(1, "cd");
    run.finish(1);
    std::string text, tokens;
    std::vector<int64_t> offsets;
    size_t nulls = 0;
    const auto take = [&](const json::object& part) {
      const json::value& c = part.at("choices").at(0);
      text += str(c.at("text"));
      if (c.at("logprobs").is_null()) return;
      const json::object& l = c.at("logprobs").as_object();
      for (const json::value& t : l.at("tokens").as_array()) tokens += str(t);
      for (const json::value& t : l.at("text_offset").as_array()) offsets.push_back(t.to_number<int64_t>());
      for (const json::value& t : l.at("token_logprobs").as_array()) nulls += t.is_null();
    };
    if (stream) {
      for (const json::object& e : run.events()) take(e);
    } else {
      take(run.answer());
    }
    EXPECT_EQ(text, "abcd");
    EXPECT_EQ(tokens, "abcd");
    EXPECT_EQ(offsets, (std::vector<int64_t>{0, 1, 2, 3}));
    EXPECT_EQ(nulls, 1u) << "the first token of a prompt has none";
  }
}

TEST(Generation, ChatLogprobs) {
  Case run;
  run.start(ask(R"(,"logprobs":true,"top_logprobs":2)"));
  run.engine.listener(1)->on_tokens({{'H', -INFINITY, {{'H', -INFINITY}}}, {0xE2, 0.5f, {}}}, "H");
  run.finish(1);
  const json::object o = run.answer();
  const json::array& content = o.at("choices").at(0).at("logprobs").at("content").as_array();
  ASSERT_EQ(content.size(), 2u);
  EXPECT_EQ(content[0].at("logprob").to_number<double>(), -9999.0) << "JSON has no infinity";
  EXPECT_EQ(content[1].at("logprob").to_number<double>(), 0.0);
  EXPECT_EQ(str(content[1].at("token")), "\xEF\xBF\xBD");
  EXPECT_EQ(content[1].at("bytes").at(0), 0xE2);
  EXPECT_TRUE(content[1].at("top_logprobs").as_array().empty());
}

TEST(Generation, ToolCalls) {
  const std::string tools = R"(,"tools":[{"type":"function","function":{"name":"f"}}])";
  for (const bool stream : {false, true}) {
    Case run;
    run.start(ask(tools + (stream ? R"(,"stream":true)" : "")));
    run.say(1, "<tool_call>{\"name\":\"f\",\"arguments\":{\"x\":1}}</tool_call>");
    run.finish(1);
    json::object call;
    std::string reason;
    if (stream) {
      for (const json::object& e : run.events()) {
        const json::object& c = e.at("choices").at(0).as_object();
        if (c.at("delta").as_object().contains("tool_calls")) call = c.at("delta").at("tool_calls").at(0).as_object();
        if (!c.at("finish_reason").is_null()) reason = str(c.at("finish_reason"));
      }
      EXPECT_EQ(call.at("index"), 0);
    } else {
      const json::object o = run.answer();
      EXPECT_TRUE(o.at("choices").at(0).at("message").at("content").is_null());
      call = o.at("choices").at(0).at("message").at("tool_calls").at(0).as_object();
      reason = str(o.at("choices").at(0).at("finish_reason"));
    }
    EXPECT_EQ(str(call.at("function").at("name")), "f");
    EXPECT_EQ(str(call.at("function").at("arguments")), "{\"x\":1}");
    EXPECT_EQ(reason, "tool_calls");
  }
}

TEST(Generation, AClientThatLeavesCancelsAllChoices) {
  for (const char* stream : {"", R"(,"stream":true)"}) {
    Case run;
    const std::weak_ptr<Generation> g = run.start(ask(std::string(R"(,"n":3)") + stream));
    run.say(1, "x");
    run.client->leave();
    EXPECT_EQ(run.engine.cancelled, (std::vector<RequestId>{1, 2, 3}));
    run.say(2, "late");
    for (const RequestId id : {1, 2, 3}) run.finish(id, FinishReason::kCancelled);
    EXPECT_TRUE(g.expired()) << "nothing holds it any more";
  }
}

TEST(Generation, AClientThatLeftWhileItsRequestWasReadIsNotSubmitted) {
  Case run;
  run.client->leave();
  run.start(ask(""));
  EXPECT_EQ(run.engine.submitted(), 0u);
}

TEST(Generation, WhatTheEngineRefusesIsToldBeforeAnyStream) {
  Case full;
  full.engine.room = 2;
  full.start(ask(R"(,"n":3,"stream":true)"));
  EXPECT_EQ(full.client->response.status, 429);
  EXPECT_EQ(full.client->response.headers.at(0).first, "Retry-After");
  EXPECT_EQ(full.engine.cancelled.size(), 2u) << "all or nothing";
  for (const RequestId id : {1, 2}) full.finish(id, FinishReason::kCancelled);
  EXPECT_EQ(str(full.answer().at("error").at("code")), "queue_full");

  Case draining;
  draining.engine.drain();
  draining.start(ask(R"(,"stream":true)"));
  EXPECT_EQ(draining.client->response.status, 503);

  Case longer;
  longer.start("{\"prompt\":\"" + std::string(200, 'a') + "\",\"stream\":true}", false);
  EXPECT_EQ(longer.client->response.status, 400);
  const json::object error = longer.answer().at("error").as_object();
  EXPECT_EQ(str(error.at("code")), "context_length_exceeded");
  EXPECT_EQ(error.at("n_prompt_tokens"), 200);
  EXPECT_EQ(error.at("n_ctx"), 200);
  Case fits;
  fits.start("{\"prompt\":\"" + std::string(199, 'a') + "\"}", false);
  EXPECT_EQ(fits.engine.submitted(), 1u);
}

TEST(Generation, AnEngineThatFails) {
  Case whole;
  whole.start(ask(""));
  whole.say(1, "x");
  whole.finish(1, FinishReason::kError);
  EXPECT_EQ(whole.client->response.status, 500);
  Case stream;
  stream.start(ask(R"(,"stream":true,"n":2)"));
  stream.say(1, "x");
  stream.finish(1, FinishReason::kError);
  EXPECT_TRUE(stream.events().back().contains("error"));
  EXPECT_EQ(stream.engine.cancelled.size(), 2u);
  EXPECT_TRUE(stream.client->closed());
}

TEST(Generation, ADeadlineGivesWhatThereIs) {
  Case run;
  run.start(ask(R"(,"timeout":1.5)"));
  EXPECT_EQ(run.engine.requests[0].timeout_seconds, 1.5);
  run.say(1, "half");
  run.finish(1, FinishReason::kTimeout);
  EXPECT_EQ(run.client->response.status, 200);
  EXPECT_EQ(str(run.answer().at("choices").at(0).at("finish_reason")), "timeout");
}

TEST(Generation, AbortEndsTheStreamWithAnError) {
  Case run;
  const auto g = run.start(ask(R"(,"stream":true)"));
  run.say(1, "x");
  g->abort(unavailable_error("the server is shutting down", "draining"));
  EXPECT_TRUE(run.events().back().contains("error"));
  EXPECT_TRUE(run.client->closed());
  run.finish(1, FinishReason::kCancelled);
}

}  // namespace
}  // namespace toccata::server
