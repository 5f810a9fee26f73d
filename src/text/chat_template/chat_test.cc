#include "text/chat_template/chat.h"

#include <gtest/gtest.h>
#include <boost/json.hpp>

namespace toccata {
namespace {

constexpr std::string_view kPlain = "{% for m in messages %}<{{ m.role }}>{{ m.content | default('-') }}{% endfor %}";

Result<std::string> chat(std::string_view source, std::string_view messages, ChatInput input = {}) {
  const auto parsed = ChatTemplate::parse(source);
  if (!parsed.has_value()) return tl::unexpected(parsed.error());
  const boost::json::array list = boost::json::parse(messages).as_array();
  input.messages = &list;
  return render_chat(*parsed, input);
}

std::string error_of(const Result<std::string>& result) { return result.has_value() ? "" : result.error().message; }

TEST(RenderChat, DropsNullsOfMessages) {
  EXPECT_EQ(*chat(kPlain, R"([{"role": "user", "content": null}])"), "<user>-");
}

TEST(RenderChat, AliasesReasoning) {
  constexpr std::string_view source =
      "{{ messages[0].thinking }}{{ messages[0].reasoning_content }}{{ messages[0].reasoning }}";
  EXPECT_EQ(*chat(source, R"([{"role": "assistant", "reasoning": "r"}])"), "rrr");
  EXPECT_EQ(*chat(source, R"([{"role": "assistant", "thinking": "t", "reasoning_content": "c"}])"), "tc");
  EXPECT_EQ(*chat(source, R"([{"role": "assistant", "thinking": null, "content": "x"}])"), "");
}

TEST(RenderChat, TokensAreUndefinedUnlessGiven) {
  constexpr std::string_view source = "{{ bos_token is defined }}{{ eos_token }}";
  ChatInput input;
  EXPECT_EQ(*chat(source, R"([{}])", input), "False");
  input.bos_token = "<b>";
  input.eos_token = "<e>";
  EXPECT_EQ(*chat(source, R"([{}])", input), "True<e>");
}

TEST(RenderChat, VariablesDoNotReplaceTheConversation) {
  const boost::json::object variables{{"messages", "x"}, {"bos_token", "v"}, {"flag", true}};
  ChatInput input;
  input.bos_token = "<b>";
  input.variables = &variables;
  EXPECT_EQ(*chat("{{ bos_token }}{{ flag }}{{ messages | length }}{{ tools }}{{ documents }}", R"([{}, {}])", input),
            "vTrue2NoneNone");
}

TEST(RenderChat, ContinuesTheFinalMessage) {
  ChatInput input;
  input.continue_final_message = true;
  constexpr std::string_view messages =
      R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b c "}])";
  EXPECT_EQ(*chat("{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}", messages, input),
            "<user>a</><assistant>b c ");
  EXPECT_EQ(*chat("{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}</>{% endfor %}", messages, input),
            "<user>a</><assistant>b c");
}

TEST(RenderChat, RefusesToContinueWhatIsNotShown) {
  ChatInput input;
  input.continue_final_message = true;
  constexpr std::string_view messages = R"([{"role": "user", "content": "a"}])";
  EXPECT_NE(error_of(chat("{{ messages[0].role }}", messages, input)).find("does not use"), std::string::npos);
  EXPECT_NE(error_of(chat("{{ messages[0].role }}{# content #}", messages, input)).find("does not appear"),
            std::string::npos);
  EXPECT_NE(error_of(chat(kPlain, R"([{"role": "user"}])", input)).find("no \"content\""), std::string::npos);
  input.add_generation_prompt = true;
  EXPECT_NE(error_of(chat(kPlain, messages, input)).find("add_generation_prompt"), std::string::npos);
}

TEST(RenderChat, RefusesWhatIsNoConversation) {
  EXPECT_NE(error_of(chat(kPlain, "[]")).find("no messages"), std::string::npos);
  EXPECT_NE(error_of(chat(kPlain, R"(["hello"])")).find("must be an object"), std::string::npos);
  const boost::json::array tools{1};
  ChatInput input;
  input.tools = &tools;
  EXPECT_NE(error_of(chat(kPlain, "[{}]", input)).find("tool"), std::string::npos);
}

}  // namespace
}  // namespace toccata
