#include "server/auth.h"

#include <cstdio>
#include <fstream>

#include <gtest/gtest.h>

namespace toccata::server {
namespace {

TEST(ApiKeys, AcceptsTheKeysAndNothingElse) {
  const ApiKeys keys({"alpha", "beta-longer"});
  for (const char* good : {"Bearer alpha", "bearer beta-longer", "BEARER  alpha ", "Bearer alpha\r"}) {
    EXPECT_TRUE(keys.accepts(good)) << good;
  }
  for (const char* bad : {"", "alpha", "Bearer", "Bearer ", "Bearer alph", "Bearer alphaa", "Bearer alphaalpha",
                          "Basic alpha", "Bearer beta", "Bearer Alpha", "Bearer alpha beta-longer"}) {
    EXPECT_FALSE(keys.accepts(bad)) << bad;
  }
  EXPECT_FALSE(ApiKeys({}).needed());
}

TEST(ApiKeys, AreReadFromAFile) {
  const std::string path = ::testing::TempDir() + "keys.txt";
  std::ofstream(path) << "# ours\n\n one \r\ntwo\n";
  EXPECT_EQ(*read_key_file(path), (std::vector<std::string>{"one", "two"}));
  std::ofstream(path) << "# none\n";
  EXPECT_FALSE(read_key_file(path));
  std::remove(path.c_str());
  EXPECT_NE(read_key_file(path).error().message.find(path), std::string::npos);
}

}  // namespace
}  // namespace toccata::server
