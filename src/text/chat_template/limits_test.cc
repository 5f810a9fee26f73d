// Templates that try to run forever, to fill the memory or to crash the interpreter; and how errors are reported.
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "text/chat_template/chat_template.h"

namespace toccata {
namespace {

Result<std::string> render(const std::string& source, const boost::json::object& context = {}) {
  const auto parsed = ChatTemplate::parse(source);
  if (!parsed.has_value()) return tl::unexpected(parsed.error());
  return parsed->render(context);
}

void expect_error(const std::string& source, ErrorCode code, const std::string& words) {
  const auto result = render(source);
  ASSERT_FALSE(result.has_value()) << source.substr(0, 200);
  EXPECT_EQ(static_cast<int>(result.error().code), static_cast<int>(code)) << result.error().message;
  EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
}

std::string times(const std::string& text, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += text;
  return out;
}

TEST(ChatTemplateLimits, EndlessWorkIsStopped) {
  const std::string loops = "{% for a in range(100000) %}{% for b in range(100000) %}";
  expect_error(loops + "{% endfor %}{% endfor %}", ErrorCode::kResourceExhausted, "runs too long");
  expect_error(
      "{% for a in range(100000) %}{% if (range(100000) | list) == (range(100000) | list) %}{% endif %}{% endfor %}",
      ErrorCode::kResourceExhausted, "");
  expect_error("{% set s = 'a' * 10000000 %}{% for a in range(100000) %}{% if 'b' in s %}{% endif %}{% endfor %}",
               ErrorCode::kResourceExhausted, "runs too long");
  expect_error("{% set s = 'a' * 10000000 %}{% for a in range(100000) %}{% set t = s.upper() %}{% endfor %}",
               ErrorCode::kResourceExhausted, "runs too long");
  expect_error("{% for x in range(100000) | slice(1000000000000) %}{% endfor %}", ErrorCode::kResourceExhausted, "");
}

TEST(ChatTemplateLimits, OutputIsBounded) {
  expect_error("{% set s = 'a' * 1000000 %}{% for i in range(100) %}{{ s }}{% endfor %}", ErrorCode::kResourceExhausted,
               "64 MiB");
}

TEST(ChatTemplateLimits, MemoryIsBounded) {
  const std::string grow =
      "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}";
  expect_error(grow, ErrorCode::kResourceExhausted, "256 MiB");
  expect_error("{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
               ErrorCode::kResourceExhausted, "256 MiB");
  for (const char* source :
       {"{{ 'a' * 1000000000000 }}", "{{ [1] * 1000000000000 }}", "{{ 'a'.center(10 ** 30) }}",
        "{{ 'a'.zfill(10 ** 30) }}", "{{ 'a' | indent(10 ** 30) }}", "{{ [[1]] | tojson(indent=10 ** 12) }}",
        "{{ '%*d' % (10 ** 12, 1) }}", "{{ '{:999999999}'.format(1) }}", "{{ '\t'.expandtabs(10 ** 12) }}",
        "{{ [1] | batch(10 ** 12, 0) | list }}", "{{ ('a' * 100000).replace('', 'b' * 100000) }}",
        "{{ 'a' | center(10 ** 12) }}", "{{ (('a,' * 1000000).split(',') * 100) | join('b' * 1000) }}"}) {
    expect_error(source, ErrorCode::kResourceExhausted, "256 MiB");
  }
}

TEST(ChatTemplateLimits, FreedTextDoesNotCount) {
  const auto result = render(
      "{% set n = namespace(x='') %}{% for i in range(300) %}{% set n.x = 'a' * (1000000 + i) %}"
      "{% endfor %}{{ n.x | length }}");
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(*result, "1000299");
}

TEST(ChatTemplateLimits, DeepNestingIsStopped) {
  expect_error("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", ErrorCode::kResourceExhausted, "too deeply");
  expect_error("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", ErrorCode::kResourceExhausted, "too deeply");
  const std::string nest = "{% set n = namespace(x=[]) %}{% for i in range(99999) %}{% set n.x = [n.x] %}{% endfor %}";
  EXPECT_TRUE(render(nest).has_value());
  expect_error(nest + "{{ n.x }}", ErrorCode::kResourceExhausted, "too deeply");
  expect_error(nest + "{{ n.x | tojson }}", ErrorCode::kResourceExhausted, "too deeply");
  expect_error(nest + "{{ n.x == [n.x] }}", ErrorCode::kResourceExhausted, "too deeply");
  expect_error("{% set n = namespace() %}{% set n.n = n %}{{ n }}", ErrorCode::kResourceExhausted, "too deeply");
  expect_error("{{ " + times("(", 10000) + "1" + times(")", 10000) + " }}", ErrorCode::kUnsupported, "nested deeper");
  expect_error("{{ " + times("-", 10000) + "1 }}", ErrorCode::kUnsupported, "nested deeper");
  expect_error("{{ " + times("not ", 10000) + "1 }}", ErrorCode::kUnsupported, "nested deeper");
  expect_error("{{ 1" + times(" + 1", 10000) + " }}", ErrorCode::kUnsupported, "nested deeper");
  expect_error("{{ x" + times(".a", 10000) + " }}", ErrorCode::kUnsupported, "nested deeper");
  expect_error("{{ x" + times(" | e", 10000) + " }}", ErrorCode::kUnsupported, "nested deeper");
  expect_error("{{ 1" + times(" if 1 else 1", 10000) + " }}", ErrorCode::kUnsupported, "nested deeper");
  expect_error(times("{% if 1 %}", 1000), ErrorCode::kUnsupported, "nested deeper");
  expect_error(times("{% for x in [1] %}", 1000), ErrorCode::kUnsupported, "nested deeper");
}

TEST(ChatTemplateLimits, DeepContextIsRefused) {
  boost::json::value data = 1;
  for (int i = 0; i < 1000; ++i) data = boost::json::array{data};
  const auto result = render("{{ x }}", {{"x", data}});
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find("nested deeper"), std::string::npos) << result.error().message;
}

TEST(ChatTemplateLimits, HugeTemplatesAreRefused) {
  EXPECT_FALSE(ChatTemplate::parse(times("a", 300'000)).has_value());
  std::string variables;
  for (int i = 0; i < 600; ++i) variables += "{% set v" + std::to_string(i) + " = 1 %}";
  expect_error(variables, ErrorCode::kUnsupported, "variables");
}

TEST(ChatTemplateErrors, CarryTheLine) {
  expect_error("a\n\n{{ missing.x }}", ErrorCode::kInvalidArgument, "line 3: 'missing' is undefined");
  expect_error("a\n{% if true %}\n{{ {}.a.b }}{% endif %}", ErrorCode::kInvalidArgument,
               "line 3: 'dict object' has no attribute 'a'");
  expect_error("a\n{{ 1 + }}", ErrorCode::kInvalidArgument, "line 2: unexpected 'end of print statement'");
  expect_error("\n{% include 'x' %}", ErrorCode::kUnsupported,
               "line 2: chat templates do not support the tag 'include'");
  expect_error("\n\n{{ x | nope }}", ErrorCode::kUnsupported,
               "line 3: chat templates do not support the filter 'nope'");
  expect_error("{% for x in [1] %}", ErrorCode::kInvalidArgument, "'endfor'");
}

TEST(ChatTemplateErrors, RaiseExceptionShowsTheMessageAlone) {
  const auto result = render("\n{{ raise_exception('roles must alternate') }}");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message, "roles must alternate");
}

TEST(ChatTemplateErrors, InvalidUtf8IsRefused) {
  EXPECT_FALSE(ChatTemplate::parse("a\xff").has_value());
  EXPECT_FALSE(ChatTemplate::parse("{{ '\xc3' }}").has_value());
  EXPECT_FALSE(render("{{ x }}", {{"x", "\xed\xa0\x80"}}).has_value());
  EXPECT_FALSE(render("{{ 1 }}", {{"x", boost::json::object{{"\xff", 1}}}}).has_value());
}

TEST(ChatTemplate, RendersFromManyThreads) {
  const auto parsed = ChatTemplate::parse(
      "{% macro m(x) %}<{{ x | upper }}>{% endmacro %}{% for i in range(50) %}{{ m(s) }}{% endfor %}");
  ASSERT_TRUE(parsed.has_value());
  const std::string expected = times("<ABC>", 50);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) EXPECT_EQ(parsed->render({{"s", "abc"}}).value_or("error"), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ChatTemplate, ReadsTheSystemClock) {
  const auto result = render("{{ strftime_now('%Y') }}");
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_GE(std::stoi(*result), 2024);
}

}  // namespace
}  // namespace toccata
