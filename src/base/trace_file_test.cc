#include "toccata/trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "base/clock.h"

namespace toccata {
namespace {

std::string read(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

size_t count(const std::string& text, std::string_view what) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++n;
  return n;
}

class TraceFileTest : public testing::Test {
 protected:
  std::string path_ = testing::TempDir() + "trace_" + std::to_string(getpid()) + ".json";
  void TearDown() override { ::unlink(path_.c_str()); }
};

TEST_F(TraceFileTest, IsWholeFromTheBeginning) {
  const auto file = TraceFile::create(path_);
  ASSERT_TRUE(file);
  EXPECT_EQ(read(path_), "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n]}\n");
}

TEST_F(TraceFileTest, EscapesWhatIsNotPlain) {
  const auto file = TraceFile::create(path_);
  ASSERT_TRUE(file);
  (*file)->slice(3, "a\"b\\c\n\x01", 0, 0.25, {{"u\xc3\xbc\xff", std::string_view("\xf0\x9f\x8e\xb5\xe2\x82")}});
  (*file)->counter("c", 0, {{"i", int64_t{-7}}, {"x", 0.5}, {"inf", HUGE_VAL}, {"nan", std::nan("")}});
  ASSERT_TRUE((*file)->close());
  const std::string text = read(path_);
  EXPECT_EQ(count(text, R"("name":"a\"b\\c\u000a\u0001","tid":3,"dur":250000.000,)"), 1u) << text;
  EXPECT_EQ(count(text, "\"args\":{\"u\xc3\xbc\xef\xbf\xbd\":\"\xf0\x9f\x8e\xb5\xef\xbf\xbd\xef\xbf\xbd\"}}"), 1u)
      << text;
  EXPECT_EQ(count(text, R"("args":{"i":-7,"x":0.5,"inf":null,"nan":null}})"), 1u) << text;
}

// Whatever was flushed is whole without close(), and later events take the place of the closing brackets.
TEST_F(TraceFileTest, IsWholeAfterEachFlush) {
  const auto file = TraceFile::create(path_);
  ASSERT_TRUE(file);
  for (int i = 1; i <= 3; ++i) {
    (*file)->begin("request", 255, "r", monotonic_seconds());
    (*file)->end("request", 255, "r", monotonic_seconds());
    (*file)->flush();
    const std::string text = read(path_);
    EXPECT_EQ(count(text, "\n]}\n"), 1u);
    EXPECT_EQ(text.substr(text.size() - 5), "}\n]}\n");
    EXPECT_EQ(count(text, "\"ph\":\"b\""), static_cast<size_t>(i));
    EXPECT_EQ(count(text, "\"ph\":\"e\""), static_cast<size_t>(i));
    EXPECT_EQ(count(text, "\"cat\":\"request\",\"id\":\"0xff\""), static_cast<size_t>(2 * i));
    EXPECT_EQ(count(text, "},\n{"), static_cast<size_t>(2 * i - 1));  // commas between events alone
  }
}

TEST_F(TraceFileTest, WritesManyEventsInBoundedMemory) {
  const auto file = TraceFile::create(path_);
  ASSERT_TRUE(file);
  for (int i = 0; i < 5000; ++i) (*file)->slice(1, "step", 0, 1, {{"number", int64_t{i}}});
  EXPECT_GT(count(read(path_), "\"number\""), 3000u);  // before close: 64 KiB hold fewer than 1000
  ASSERT_TRUE((*file)->close());
  EXPECT_EQ(count(read(path_), "\"number\""), 5000u);
}

TEST(TraceFile, RefusesWhatCannotBeWritten) {
  for (const char* path : {"/nonexistent/trace.json", "/dev/full", "/"}) {
    const auto file = TraceFile::create(path);
    ASSERT_FALSE(file) << path;
    EXPECT_NE(file.error().message.find("'" + std::string(path) + "'"), std::string::npos) << file.error().message;
  }
}

}  // namespace
}  // namespace toccata
