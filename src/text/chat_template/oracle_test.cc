// Compares with Python's jinja2: cases in tests/chat_template/data (made by oracle.py there), the conversations of
// tests/reference/chat.json, and programs that oracle.py makes afresh when jinja2 is installed.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "text/chat_template/chat.h"
#include "text/chat_template/chat_template.h"

namespace toccata {
namespace {

using boost::json::object;
using boost::json::value;

std::string tests_folder() { return TOCCATA_SOURCE_DIR "/tests/"; }

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// 2024-07-26 15:04:09.000042, a Friday: NOW of environment.py.
ChatTemplate::LocalTime test_time() {
  ChatTemplate::LocalTime time;
  time.tm.tm_year = 124;
  time.tm.tm_mon = 6;
  time.tm.tm_mday = 26;
  time.tm.tm_hour = 15;
  time.tm.tm_min = 4;
  time.tm.tm_sec = 9;
  time.tm.tm_wday = 5;
  time.tm.tm_yday = 207;
  time.microsecond = 42;
  return time;
}

// Python shows something that has no counterpart here (a memory address, a number without bounds).
bool is_allowed_refusal(const Error& error) {
  if (error.code != ErrorCode::kUnsupported) return false;
  for (std::string_view words :
       {"memory address", "127 bits", "2**53", "range of a float", "complex numbers", "sameas"}) {
    if (error.message.find(words) != std::string::npos) return true;
  }
  return false;
}

// True when the outcome is the expected one; `refusals` counts the allowed refusals of random programs.
void expect_outcome(const object& test, const Result<std::string>& got, bool random, int& refusals) {
  SCOPED_TRACE(std::string(test.at("id").as_string()));
  if (const value* refused = test.if_contains("refused")) {
    ASSERT_FALSE(got.has_value()) << *got;
    EXPECT_EQ(got.error().code, ErrorCode::kUnsupported) << got.error().message;
    EXPECT_NE(got.error().message.find(std::string(refused->as_string())), std::string::npos) << got.error().message;
  } else if (test.contains("error")) {
    ASSERT_FALSE(got.has_value()) << test.at("error") << " expected, got: " << *got;
    if (const value* message = test.if_contains("message")) {
      EXPECT_EQ(got.error().message, std::string(message->as_string()));
    }
  } else if (random && !got.has_value() && is_allowed_refusal(got.error())) {
    ++refusals;
  } else {
    ASSERT_TRUE(got.has_value()) << got.error().message << "\n" << test.at("template");
    EXPECT_EQ(*got, std::string(test.at("text").as_string()));
  }
}

Result<std::string> render_case(const object& test, const object& shared) {
  const auto parsed = ChatTemplate::parse(std::string(test.at("template").as_string()));
  if (!parsed.has_value()) return tl::unexpected(parsed.error());
  const value* own = test.if_contains("context");
  return parsed->render(own != nullptr ? own->as_object() : shared, test_time);
}

// Runs all cases of JSON lines; returns how many there were.
int run_lines(std::string_view lines, bool random) {
  object shared;
  int cases = 0;
  int refusals = 0;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const object test = boost::json::parse(lines.substr(0, end)).as_object();
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (const value* context = test.if_contains("shared_context")) {
      shared = context->as_object();
      continue;
    }
    expect_outcome(test, render_case(test, shared), random, refusals);
    ++cases;
  }
  EXPECT_LE(refusals, cases / 20);
  return cases;
}

TEST(ChatTemplateOracle, HandwrittenCases) {
  EXPECT_GE(run_lines(read_file(tests_folder() + "chat_template/data/handwritten.jsonl"), false), 1100);
}

TEST(ChatTemplateOracle, RandomPrograms) {
  EXPECT_GE(run_lines(read_file(tests_folder() + "chat_template/data/random.jsonl"), true), 500);
}

bool flag(const object& chat, std::string_view name, bool fallback) {
  const value* found = chat.if_contains(name);
  return found == nullptr ? fallback : found->as_bool();
}

ChatInput make_input(const object& chat) {
  ChatInput input;
  input.messages = &chat.at("messages").as_array();
  if (const value* tools = chat.if_contains("tools")) input.tools = tools->if_array();
  if (const value* variables = chat.if_contains("variables")) input.variables = variables->if_object();
  input.bos_token = "<bos>";
  input.eos_token = "<eos>";
  input.add_generation_prompt = flag(chat, "add_generation_prompt", true);
  input.continue_final_message = flag(chat, "continue_final_message", false);
  input.clock = test_time;
  return input;
}

TEST(ChatTemplateOracle, ModelTemplatesWithConversations) {
  std::ifstream file(tests_folder() + "chat_template/data/chats.jsonl");
  int cases = 0;
  int refusals = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    const object test = boost::json::parse(line).as_object();
    const std::string model(test.at("model").as_string());
    const auto parsed = ChatTemplate::parse(read_file(tests_folder() + "chat_template/models/" + model + ".jinja"));
    ASSERT_TRUE(parsed.has_value()) << model << ": " << parsed.error().message;
    expect_outcome(test, render_chat(*parsed, make_input(test.at("chat").as_object())), false, refusals);
  }
  EXPECT_GE(cases, 450);
}

TEST(ChatTemplateOracle, ReferenceConversations) {
  const object reference = boost::json::parse(read_file(tests_folder() + "reference/chat.json")).as_object();
  int refusals = 0;
  for (const value& entry : reference.at("cases").as_array()) {
    const object& test = entry.as_object();
    const object& model = reference.at("templates").as_object().at(test.at("template").as_string()).as_object();
    const auto parsed = ChatTemplate::parse(std::string(model.at("template").as_string()));
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    ChatInput input = make_input(test);
    input.bos_token = std::string(model.at("bos").as_string());
    input.eos_token = std::string(model.at("eos").as_string());
    expect_outcome(test, render_chat(*parsed, input), false, refusals);
  }
  EXPECT_EQ(reference.at("cases").as_array().size(), 66u);
}

std::string python() {
  const char* chosen = std::getenv("TOCCATA_PYTHON");
  return chosen != nullptr ? chosen : "python3";
}

std::string run_command(const std::string& command, int& status) {
  std::string out;
  std::array<char, 4096> buffer;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    status = -1;
    return out;
  }
  for (size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) out.append(buffer.data(), n);
  status = pclose(pipe);
  return out;
}

// Another seed than the committed programs; TOCCATA_ORACLE_SEED and TOCCATA_ORACLE_COUNT choose longer runs.
TEST(ChatTemplateOracle, FreshRandomPrograms) {
  int status = 0;
  run_command(python() + " -c 'import jinja2, sys; sys.exit(jinja2.__version__ != \"3.1.6\")' 2>/dev/null", status);
  if (status != 0) GTEST_SKIP() << "jinja2 3.1.6 is not installed for " << python() << " (set TOCCATA_PYTHON)";
  const char* seed = std::getenv("TOCCATA_ORACLE_SEED");
  const char* count = std::getenv("TOCCATA_ORACLE_COUNT");
  const std::string command = python() + " '" + tests_folder() + "chat_template/oracle.py' --seed " +
                              (seed != nullptr ? seed : "20241") + " --count " + (count != nullptr ? count : "150");
  const std::string lines = run_command(command, status);
  ASSERT_EQ(status, 0) << command;
  EXPECT_GE(run_lines(lines, true), 100);
}

}  // namespace
}  // namespace toccata
