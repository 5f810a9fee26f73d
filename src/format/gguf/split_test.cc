// Split models: any part opens all; what is missing or does not fit together is named.
#include <gtest/gtest.h>

#include <cstring>

#include "format/gguf/gguf.h"
#include "format/gguf/test_writer.h"

namespace toccata::gguf {
namespace {

struct Part {
  int index = 0;
  int count = 3;
  int total = 3;
  std::string tensor = {};  // default: "t<index>"
};

std::string tensor_name(int index) { return std::string("t").append(std::to_string(index)); }

std::string part_bytes(const Part& part) {
  Writer writer;
  if (part.index == 0) writer.text("general.architecture", "llama");
  writer.scalar<uint16_t>("split.no", ValueType::kUint16, static_cast<uint16_t>(part.index));
  writer.scalar<uint16_t>("split.count", ValueType::kUint16, static_cast<uint16_t>(part.count));
  writer.i32("split.tensors.count", part.total);
  const std::string name = part.tensor.empty() ? tensor_name(part.index) : part.tensor;
  return writer.tensor(name, DType::kF32, {2}, std::string(8, static_cast<char>('a' + part.index))).bytes();
}

std::string part_name(int index, int count = 3) {
  return "m-0000" + std::to_string(index + 1) + "-of-0000" + std::to_string(count) + ".gguf";
}

void write_parts(const TestFolder& folder) {
  for (int i = 0; i < 3; ++i) folder.write(part_name(i), part_bytes({.index = i}));
}

std::string refusal(const std::string& path) {
  const auto file = File::open(path);
  EXPECT_FALSE(file);
  return file ? std::string() : file.error().message;
}

TEST(Split, AnyPartOpensAll) {
  const TestFolder folder;
  write_parts(folder);
  for (int given = 0; given < 3; ++given) {
    const auto file = File::open(folder.path(part_name(given)));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ((*file)->shards().size(), 3u);
    EXPECT_EQ((*file)->get_string("general.architecture").value(), "llama");  // the first part's metadata
    ASSERT_EQ((*file)->tensors().size(), 3u);
    for (int i = 0; i < 3; ++i) {
      const Tensor* tensor = (*file)->find_tensor(tensor_name(i));
      ASSERT_NE(tensor, nullptr);
      EXPECT_EQ(tensor->shard, i);
      EXPECT_EQ(std::memcmp(tensor->data, std::string(8, static_cast<char>('a' + i)).data(), 8), 0);
    }
    uint64_t bytes = 0;
    for (int i = 0; i < 3; ++i) bytes += std::filesystem::file_size(folder.path(part_name(i)));
    EXPECT_EQ((*file)->file_bytes(), bytes);
  }
}

TEST(Split, AMissingPartIsNamed) {
  const TestFolder folder;
  write_parts(folder);
  std::filesystem::remove(folder.path(part_name(1)));
  const auto file = File::open(folder.path(part_name(2)));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(file.error().message, "part 2 of 3 of the model is missing: '" + folder.path(part_name(1)) + "'");
}

TEST(Split, ADamagedPartIsNamed) {
  const TestFolder folder;
  write_parts(folder);
  folder.write(part_name(2), part_bytes({.index = 2}).substr(0, 60));
  EXPECT_TRUE(refusal(folder.path(part_name(0))).starts_with(folder.path(part_name(2)) + ": "));
}

TEST(Split, ARenamedPartCannotFindTheOthers) {
  const TestFolder folder;
  const std::string path = folder.write("model.gguf", part_bytes({.index = 1}));
  EXPECT_EQ(refusal(path), path +
                               ": this is part 2 of 3 of a split model, but its name does not end in "
                               "'-00002-of-00003.gguf', so the other parts cannot be found");
}

TEST(Split, PartsMustAgreeWithTheirNames) {
  const TestFolder folder;
  write_parts(folder);
  folder.write(part_name(1), part_bytes({.index = 2}));
  EXPECT_NE(refusal(folder.path(part_name(0))).find("calls it part 3 of 3, but its name part 2 of 3"),
            std::string::npos);
  folder.write(part_name(1), part_bytes({.index = 1, .count = 4}));
  EXPECT_NE(refusal(folder.path(part_name(0))).find("calls it part 2 of 4, but its name part 2 of 3"),
            std::string::npos);
}

TEST(Split, TensorsMustBeUniqueAndComplete) {
  const TestFolder folder;
  write_parts(folder);
  folder.write(part_name(1), part_bytes({.index = 1, .tensor = "t0"}));
  EXPECT_EQ(refusal(folder.path(part_name(0))), folder.path(part_name(1)) + ": tensor 't0' occurs twice in the model");
  folder.write(part_name(0), part_bytes({.index = 0, .total = 4}));
  folder.write(part_name(1), part_bytes({.index = 1}));
  EXPECT_NE(refusal(folder.path(part_name(0))).find("'split.tensors.count' says 4 tensors, but the model holds 3"),
            std::string::npos);
}

TEST(Split, BadKeysAreNamed) {
  const TestFolder folder;
  const auto message = [&](Writer writer) { return refusal(folder.write("x.gguf", writer.bytes())); };
  EXPECT_NE(message(Writer().text("split.count", "3")).find("'split.count': its type is string, not an integer"),
            std::string::npos);
  EXPECT_NE(message(Writer().i32("split.count", -1)).find("'split.count': the value is outside 0 to 99999"),
            std::string::npos);
  EXPECT_NE(message(Writer().u32("split.count", 2).u32("split.no", 2)).find("'split.no': the value is outside 0 to 1"),
            std::string::npos);
  EXPECT_NE(message(Writer().scalar<uint64_t>("split.count", ValueType::kUint64, ~uint64_t{0})).find("'split.count'"),
            std::string::npos);
}

TEST(Split, AModelInOnePartNeedsNoSpecialName) {
  const TestFolder folder;
  EXPECT_TRUE(File::open(folder.write("x.gguf", part_bytes({.index = 0, .count = 1, .total = 1}))));
  EXPECT_TRUE(File::open(folder.write("x.gguf", part_bytes({.index = 0, .count = 0, .total = 1}))));
  EXPECT_NE(refusal(folder.write("x.gguf", part_bytes({.index = 0, .count = 1, .total = 2}))).find("says 2 tensors"),
            std::string::npos);
}

}  // namespace
}  // namespace toccata::gguf
