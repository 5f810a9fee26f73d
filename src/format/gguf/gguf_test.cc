// Correct files: every type of metadata and tensor comes out as it was written.
#include "format/gguf/gguf.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "format/gguf/test_writer.h"

namespace toccata::gguf {
namespace {

std::shared_ptr<const File> open_bytes(const TestFolder& folder, const std::string& bytes) {
  auto file = File::open(folder.write("model.gguf", bytes));
  EXPECT_TRUE(file) << file.error().message;
  return file ? *file : nullptr;
}

TEST(Gguf, EveryScalarType) {
  const TestFolder folder;
  const auto file =
      open_bytes(folder, Writer()
                             .scalar<uint8_t>("a.uint8", ValueType::kUint8, 255)
                             .scalar<int8_t>("a.int8", ValueType::kInt8, -128)
                             .scalar<uint16_t>("a.uint16", ValueType::kUint16, 65535)
                             .scalar<int16_t>("a.int16", ValueType::kInt16, -32768)
                             .scalar<uint32_t>("a.uint32", ValueType::kUint32, 0xffffffffu)
                             .scalar<int32_t>("a.int32", ValueType::kInt32, std::numeric_limits<int32_t>::min())
                             .scalar<uint64_t>("a.uint64", ValueType::kUint64, std::numeric_limits<uint64_t>::max())
                             .scalar<int64_t>("a.int64", ValueType::kInt64, std::numeric_limits<int64_t>::min())
                             .scalar<float>("a.float32", ValueType::kFloat32, 0.1f)
                             .scalar<double>("a.float64", ValueType::kFloat64, 0.1)
                             .boolean("a.true", true)
                             .boolean("a.false", false)
                             .text("a.string", std::string_view("h\xc3\xa9\0y", 5))
                             .text("a.empty", "")
                             .bytes());
  ASSERT_TRUE(file);
  EXPECT_EQ(file->version(), 3u);
  EXPECT_EQ(file->metadata().size(), 14u);
  EXPECT_EQ(file->metadata()[4].first, "a.uint32");
  EXPECT_EQ(file->get_int("a.uint8").value(), 255);
  EXPECT_EQ(file->get_int("a.int8").value(), -128);
  EXPECT_EQ(file->get_int("a.uint16").value(), 65535);
  EXPECT_EQ(file->get_int("a.int16").value(), -32768);
  EXPECT_EQ(file->get_int("a.uint32").value(), int64_t{0xffffffff});
  EXPECT_EQ(file->get_int("a.int32").value(), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(file->get_int("a.int64").value(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(file->get_float("a.float32").value(), static_cast<double>(0.1f));
  EXPECT_EQ(file->get_float("a.float64").value(), 0.1);
  EXPECT_EQ(file->get_float("a.int16").value(), -32768.0);
  EXPECT_EQ(file->get_float("a.uint64").value(), 0x1p64);
  EXPECT_EQ(file->get_bool("a.true").value(), true);
  EXPECT_EQ(file->get_bool("a.false").value(), false);
  EXPECT_EQ(file->get_string("a.string").value(), std::string_view("h\xc3\xa9\0y", 5));
  EXPECT_EQ(file->get_string("a.empty").value(), "");
}

TEST(Gguf, AbsentKeysAreNotErrors) {
  const TestFolder folder;
  const auto file = open_bytes(folder, Writer().bytes());
  ASSERT_TRUE(file);
  EXPECT_EQ(file->find("x"), nullptr);
  EXPECT_EQ(file->get_int("x").value(), std::nullopt);
  EXPECT_EQ(file->get_float("x").value(), std::nullopt);
  EXPECT_EQ(file->get_bool("x").value(), std::nullopt);
  EXPECT_EQ(file->get_string("x").value(), std::nullopt);
  EXPECT_EQ(file->get_array("x").value(), nullptr);
  EXPECT_EQ(file->find_tensor("x"), nullptr);
}

TEST(Gguf, WrongTypesAreRefusedByName) {
  const TestFolder folder;
  const auto file = open_bytes(folder, Writer()
                                           .text("t", "x")
                                           .f32("f", 1.5f)
                                           .boolean("b", true)
                                           .scalar<uint64_t>("huge", ValueType::kUint64, uint64_t{1} << 63)
                                           .bytes());
  ASSERT_TRUE(file);
  const auto message = [](const auto& result) { return result ? std::string() : result.error().message; };
  EXPECT_TRUE(
      message(file->get_int("t")).ends_with("model.gguf: metadata key 't': its type is string, not an integer"));
  EXPECT_TRUE(message(file->get_int("f")).ends_with("metadata key 'f': its type is float32, not an integer"));
  EXPECT_TRUE(message(file->get_int("b")).ends_with("metadata key 'b': its type is bool, not an integer"));
  EXPECT_TRUE(message(file->get_int("huge")).ends_with("'huge': the value 9223372036854775808 is too large"));
  EXPECT_TRUE(message(file->get_float("b")).ends_with("'b': its type is bool, not a number"));
  EXPECT_TRUE(message(file->get_bool("f")).ends_with("'f': its type is float32, not bool"));
  EXPECT_TRUE(message(file->get_string("f")).ends_with("'f': its type is float32, not string"));
  EXPECT_TRUE(message(file->get_array("t")).ends_with("'t': its type is string, not array"));
}

TEST(Gguf, ArraysOfNumbers) {
  const TestFolder folder;
  const auto file =
      open_bytes(folder, Writer()
                             .array<uint8_t>("u8", ValueType::kUint8, {0, 255})
                             .array<int8_t>("i8", ValueType::kInt8, {-1})
                             .array<uint16_t>("u16", ValueType::kUint16, {65535})
                             .array<int16_t>("i16", ValueType::kInt16, {-2})
                             .array<uint32_t>("u32", ValueType::kUint32, {7, 0xffffffffu})
                             .array<int32_t>("i32", ValueType::kInt32, {-3})
                             .array<uint64_t>("u64", ValueType::kUint64, {1, std::numeric_limits<uint64_t>::max()})
                             .array<int64_t>("i64", ValueType::kInt64, {-4})
                             .array<float>("f32", ValueType::kFloat32, {0.5f, -2.5f})
                             .array<double>("f64", ValueType::kFloat64, {0.1})
                             .array<uint8_t>("bool", ValueType::kBool, {1, 0})
                             .array<float>("none", ValueType::kFloat32, {})
                             .bytes());
  ASSERT_TRUE(file);
  const auto at = [&](const char* key) -> const Array& { return **file->get_array(key); };
  EXPECT_EQ(at("u8").int_at(1), 255);
  EXPECT_EQ(at("u8").int_at(2), std::nullopt);
  EXPECT_EQ(at("i8").int_at(0), -1);
  EXPECT_EQ(at("u16").int_at(0), 65535);
  EXPECT_EQ(at("i16").int_at(0), -2);
  EXPECT_EQ(at("u32").int_at(1), int64_t{0xffffffff});
  EXPECT_EQ(at("u32").float_at(0), 7.0);
  EXPECT_EQ(at("i32").int_at(0), -3);
  EXPECT_EQ(at("u64").int_at(0), 1);
  EXPECT_EQ(at("u64").int_at(1), std::nullopt);  // does not fit
  EXPECT_EQ(at("u64").float_at(1), 0x1p64);
  EXPECT_EQ(at("i64").int_at(0), -4);
  EXPECT_EQ(at("f32").float_at(1), -2.5);
  EXPECT_EQ(at("f32").int_at(0), std::nullopt);
  EXPECT_EQ(at("f64").float_at(0), 0.1);
  EXPECT_EQ(at("bool").int_at(0), 1);
  EXPECT_EQ(at("bool").float_at(0), std::nullopt);
  EXPECT_EQ(at("none").count, 0u);
  EXPECT_EQ(at("none").float_at(0), std::nullopt);
}

TEST(Gguf, ArraysOfStringsAndOfArrays) {
  const TestFolder folder;
  Bytes nested;  // [[1, 2], [], ["x", ""]]
  nested.number<uint32_t>(9).number<uint64_t>(3);
  nested.number<uint32_t>(4).number<uint64_t>(2).number<uint32_t>(1).number<uint32_t>(2);
  nested.number<uint32_t>(4).number<uint64_t>(0);
  nested.number<uint32_t>(8).number<uint64_t>(2).string("x").string("");
  const auto file = open_bytes(
      folder, Writer().strings("words", {"a", "", "bc"}).key("nested", ValueType::kArray, nested.str()).bytes());
  ASSERT_TRUE(file);
  const Array& words = **file->get_array("words");
  EXPECT_EQ(words.count, 3u);
  EXPECT_EQ(words.strings, (std::vector<std::string_view>{"a", "", "bc"}));
  EXPECT_EQ(words.int_at(0), std::nullopt);
  const Array& arrays = **file->get_array("nested");
  ASSERT_EQ(arrays.arrays.size(), 3u);
  EXPECT_EQ(arrays.arrays[0].int_at(1), 2);
  EXPECT_EQ(arrays.arrays[1].count, 0u);
  EXPECT_EQ(arrays.arrays[2].strings[0], "x");
}

TEST(Gguf, TensorsOfEveryTypeKeepTheirBytes) {
  const TestFolder folder;
  Writer writer;
  std::vector<std::string> contents;
  for (int t = 0; t < kDTypeCount; ++t) {
    const auto type = static_cast<DType>(t);
    std::string data(row_bytes(type, 256) * 6, '\0');
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 7 + static_cast<size_t>(t));
    writer.tensor("t." + std::to_string(t), type, {256, 3, 2}, data);
    contents.push_back(std::move(data));
  }
  const auto file = open_bytes(folder, writer.bytes());
  ASSERT_TRUE(file);
  ASSERT_EQ(file->tensors().size(), contents.size());
  for (size_t t = 0; t < contents.size(); ++t) {
    const Tensor* tensor = file->find_tensor("t." + std::to_string(t));
    ASSERT_EQ(tensor, &file->tensors()[t]);
    EXPECT_EQ(tensor->type, static_cast<DType>(t));
    EXPECT_EQ(tensor->cols(), 256);
    EXPECT_EQ(tensor->rows(), 6);
    EXPECT_EQ(tensor->dims, (std::vector<int64_t>{256, 3, 2}));
    ASSERT_EQ(tensor->bytes, contents[t].size());
    EXPECT_EQ(std::memcmp(tensor->data, contents[t].data(), tensor->bytes), 0);
  }
}

TEST(Gguf, VersionTwoAndOtherAlignments) {
  const TestFolder folder;
  for (const uint32_t alignment : {8u, 64u, 4096u}) {
    Writer writer;
    writer.version = 2;
    writer.alignment = alignment;
    writer.u32("general.alignment", alignment).tensor("a", DType::kF32, {3}, "aaaabbbbcccc");
    writer.tensor("b", DType::kF32, {1}, "dddd");
    const auto file = open_bytes(folder, writer.bytes());
    ASSERT_TRUE(file);
    EXPECT_EQ(file->version(), 2u);
    EXPECT_EQ(std::memcmp(file->find_tensor("a")->data, "aaaabbbbcccc", 12), 0);
    EXPECT_EQ(std::memcmp(file->find_tensor("b")->data, "dddd", 4), 0);
    EXPECT_EQ(file->find_tensor("b")->data - file->find_tensor("a")->data, alignment < 12 ? 16 : alignment);
    EXPECT_EQ(file->find_tensor("b")->rows(), 1);
  }
}

TEST(Gguf, RecordsNeedNotFollowTheOrderOfTheData) {
  const TestFolder folder;
  const auto file = open_bytes(
      folder, Writer().record("late", 0, {8}, 32).record("early", 0, {8}, 0).data(std::string(64, 'x')).bytes());
  ASSERT_TRUE(file);
  EXPECT_EQ(file->find_tensor("late")->data - file->find_tensor("early")->data, 32);
}

TEST(Printable, KeepsMessagesOnOneLine) {
  EXPECT_EQ(printable("blk.0.w\xc3\xa9ight"), "blk.0.w\xc3\xa9ight");
  EXPECT_EQ(printable("a\nb\x1b[2J"), "a\\x0ab\\x1b[2J");
  EXPECT_EQ(printable("\xff\x80"), "\\xff\\x80");
  EXPECT_EQ(printable("\xc2\x85"), "\\xc2\\x85");           // C1 control
  EXPECT_EQ(printable("\xe2\x80\xa8"), "\\xe2\\x80\\xa8");  // line separator
  EXPECT_EQ(printable(std::string(200, 'x'), 5), "xxxxx...");
  EXPECT_EQ(printable("xxxx\n", 5), "xxxx...");
  EXPECT_EQ(printable(""), "");
}

}  // namespace
}  // namespace toccata::gguf
