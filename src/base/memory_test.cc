// MappedFile, AlignedBuffer, CpuFeatures and TOCCATA_CHECK: what the system gives us.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/aligned_buffer.h"
#include "base/check.h"
#include "base/cpu_features.h"
#include "base/mapped_file.h"

namespace toccata {
namespace {

class TempDir {
 public:
  TempDir() { EXPECT_NE(::mkdtemp(path_), nullptr); }
  ~TempDir() { std::system(("rm -rf '" + std::string(path_) + "'").c_str()); }
  std::string file(const std::string& name) const { return std::string(path_) + "/" + name; }

 private:
  char path_[32] = "/tmp/toccata-base-XXXXXX";
};

TEST(MappedFile, GivesTheContentAlsoAfterRelease) {
  const TempDir dir;
  std::string content(3 * 4096 + 5, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 >> 4);
  std::ofstream(dir.file("a"), std::ios::binary) << content;
  const auto mapped = MappedFile::open(dir.file("a"));
  ASSERT_TRUE(mapped.has_value());
  ASSERT_EQ((*mapped)->size(), content.size());
  EXPECT_EQ((*mapped)->path(), dir.file("a"));
  EXPECT_EQ(std::memcmp((*mapped)->data(), content.data(), content.size()), 0);
  (*mapped)->release(1, content.size());
  (*mapped)->release(0, SIZE_MAX);
  (*mapped)->release(SIZE_MAX, SIZE_MAX);
  (*mapped)->release(100, 0);
  EXPECT_EQ(std::memcmp((*mapped)->data(), content.data(), content.size()), 0);
}

TEST(MappedFile, RefusesWhatIsNoFile) {
  const TempDir dir;
  const auto expect_error = [](const std::string& path, ErrorCode code) {
    const auto mapped = MappedFile::open(path);
    ASSERT_FALSE(mapped.has_value()) << path;
    EXPECT_EQ(mapped.error().code, code) << path;
    EXPECT_NE(mapped.error().message.find(path), std::string::npos);
  };
  expect_error(dir.file("missing"), ErrorCode::kNotFound);
  expect_error(dir.file("."), ErrorCode::kInvalidFile);
  std::ofstream(dir.file("empty"));
  expect_error(dir.file("empty"), ErrorCode::kInvalidFile);
  ASSERT_EQ(::mkfifo(dir.file("fifo").c_str(), 0600), 0);
  expect_error(dir.file("fifo"), ErrorCode::kInvalidFile);
  expect_error("/dev/null", ErrorCode::kInvalidFile);
}

TEST(AlignedBuffer, IsZeroedAlignedAndWritable) {
  for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{5000}, size_t{2} << 20, (size_t{5} << 20) + 3}) {
    auto buffer = AlignedBuffer::allocate(bytes);
    ASSERT_TRUE(buffer.has_value());
    ASSERT_EQ(buffer->size(), bytes);
    const auto address = reinterpret_cast<uintptr_t>(buffer->data());
    EXPECT_EQ(address % (bytes >= size_t{2} << 20 ? size_t{2} << 20 : size_t{4096}), 0u);
    EXPECT_EQ(buffer->as<char>()[0], 0);
    EXPECT_EQ(buffer->as<char>()[bytes - 1], 0);
    std::memset(buffer->data(), 0x5A, bytes);
    AlignedBuffer moved = std::move(*buffer);
    EXPECT_EQ(moved.as<char>()[bytes - 1], 0x5A);
  }
}

TEST(AlignedBuffer, EmptyAndImpossibleSizes) {
  const auto empty = AlignedBuffer::allocate(0);
  ASSERT_TRUE(empty.has_value());
  EXPECT_EQ(empty->data(), nullptr);
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 5, size_t{1} << 55}) {
    const auto buffer = AlignedBuffer::allocate(bytes);
    ASSERT_FALSE(buffer.has_value());
    EXPECT_EQ(buffer.error().code, ErrorCode::kResourceExhausted);
  }
}

TEST(CpuFeatures, AreConsistentWithTheCompilersView) {
  const CpuFeatures& f = cpu_features();
  EXPECT_GE(f.logical_cpus, 1);
  EXPECT_FALSE(f.model_name.empty());
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  EXPECT_EQ(f.avx2, avx2);
  EXPECT_EQ(f.avx512, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"));
  EXPECT_EQ(f.avx512_vnni, f.avx512 && __builtin_cpu_supports("avx512vnni"));
#endif
}

TEST(CheckDeathTest, NamesTheConditionAndAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(TOCCATA_CHECK(1 + 1 == 3), "memory_test.cc:[0-9]+: check failed: 1 \\+ 1 == 3");
  TOCCATA_CHECK(1 + 1 == 2);
}

}  // namespace
}  // namespace toccata
