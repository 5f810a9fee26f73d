#include "server/openai/tool_calls.h"

#include <gtest/gtest.h>

namespace toccata::server {
namespace {

// Text and calls in one string, the same wherever the answer is cut in two.
std::string parse(ToolFormat format, const std::string& text) {
  std::string first;
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    ToolCallParser parser(format);
    std::string shown, calls;
    const auto take = [&](const ToolCallParser::Output& o) {
      shown += o.text;
      for (const ToolCall& c : o.calls) calls += "|" + c.name + c.arguments;
    };
    take(parser.push(text.substr(0, cut)));
    take(parser.push(text.substr(cut)));
    take(parser.finish());
    if (cut == 0) first = shown + calls;
    EXPECT_EQ(shown + calls, first) << "cut at " << cut;
  }
  return first;
}

TEST(ToolCalls, Hermes) {
  const auto p = [](const std::string& t) { return parse(ToolFormat::kHermes, t); };
  EXPECT_EQ(p("plain < text <tool"), "plain < text <tool");
  EXPECT_EQ(p("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1}}\n</tool_call>"), "|f{\"x\":1}");
  EXPECT_EQ(p("Let me see.<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"g\","
              "\"arguments\":{}}</tool_call>"),
            "Let me see.|f{}|g{}");
  EXPECT_EQ(p("<tool_call>{\"name\":\"f\",\"arguments\":{}}"), "|f{}") << "the end is enough";
  EXPECT_EQ(p("<tool_call>nonsense</tool_call>after"), "<tool_call>nonsense</tool_call>after");
  const std::string call = "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>";
  EXPECT_EQ(p(" \n" + call + " " + call + "\n"), "|f{}|f{}") << "white space around calls is none of the text";
  EXPECT_EQ(p("a \n" + call + " b " + call), "a \n b |f{}|f{}") << "but that of the text stays";
  EXPECT_EQ(p(" <tool_call>no</tool_call> " + call), " <tool_call>no</tool_call> |f{}");
  EXPECT_EQ(p(call + " <t\xcf\xcfool_call>x</tool_call>"), " <t\xcf\xcfool_call>x</tool_call>|f{}");
  EXPECT_EQ(p(" \n"), " \n");
  EXPECT_EQ(p("<tool_call>{\"name\":5,\"arguments\":{}}</tool_call>"),
            "<tool_call>{\"name\":5,\"arguments\":{}}</tool_call>");
  EXPECT_EQ(p("<tool_call>{\"name\":\"f\",\"arguments\":{}}],\"calls\":[</tool_call>"),
            "<tool_call>{\"name\":\"f\",\"arguments\":{}}],\"calls\":[</tool_call>");
  EXPECT_EQ(p("<tool_call>{\"name\":\"f\",\"arguments\":\"{\\\"a\\\": 2}\"}</tool_call>"), "|f{\"a\": 2}");
}

TEST(ToolCalls, Mistral) {
  const auto p = [](const std::string& t) { return parse(ToolFormat::kMistral, t); };
  EXPECT_EQ(p("plain [TOOL"), "plain [TOOL");
  EXPECT_EQ(p("[TOOL_CALLS][{\"name\":\"f\",\"arguments\":{}},{\"name\":\"g\",\"arguments\":{\"a\":[]}}]"),
            "|f{}|g{\"a\":[]}");
  EXPECT_EQ(p("So: [TOOL_CALLS] [{\"name\":\"f\",\"arguments\":{}}]"), "So: |f{}");
  EXPECT_EQ(p("[TOOL_CALLS]no"), "no");
}

TEST(ToolCalls, Llama3) {
  const auto p = [](const std::string& t) { return parse(ToolFormat::kLlama3, t); };
  EXPECT_EQ(p("{\"name\": \"f\", \"parameters\": {\"x\": \"y\"}}"), "|f{\"x\":\"y\"}");
  EXPECT_EQ(p("<|python_tag|>{\"name\": \"f\", \"parameters\": {}}"), "|f{}");
  EXPECT_EQ(p("{\"weather\": 5}"), "{\"weather\": 5}");
  EXPECT_EQ(p("The answer is {\"name\": \"f\", \"parameters\": {}}"),
            "The answer is {\"name\": \"f\", \"parameters\": {}}");
}

TEST(ToolCalls, AMarkerTokenStandsForItsText) {
  ToolCallParser parser(ToolFormat::kMistral);
  EXPECT_EQ(parser.push("Hm ").text, "Hm ");
  EXPECT_EQ(parser.marker().text, "");
  EXPECT_EQ(parser.push("[{\"name\":\"f\",\"arguments\":{}}]").text, "");
  const ToolCallParser::Output end = parser.finish();
  ASSERT_EQ(end.calls.size(), 1u);
  EXPECT_EQ(end.calls[0].name, "f");
}

TEST(ToolCalls, PlainTextIsNeverHeldBack) {
  ToolCallParser none(ToolFormat::kNone), hermes(ToolFormat::kHermes);
  EXPECT_EQ(none.push("<tool_call>").text, "<tool_call>");
  EXPECT_EQ(hermes.push("abc <").text, "abc ");
  EXPECT_EQ(hermes.push("b").text, "<b");
}

}  // namespace
}  // namespace toccata::server
