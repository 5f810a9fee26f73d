// Damaged and hostile files: each is refused with one line that names the file and what is wrong, without a crash and
// without a large allocation.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <limits>

#include "format/gguf/gguf.h"
#include "format/gguf/limits.h"
#include "format/gguf/shard.h"
#include "format/gguf/test_writer.h"

// AddressSanitizer reserves terabytes of address space, so limits on it cannot be tested there.
#if defined(__SANITIZE_ADDRESS__)
#define SKIP_IF_ADDRESS_SPACE_IS_RESERVED() GTEST_SKIP() << "AddressSanitizer reserves address space"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SKIP_IF_ADDRESS_SPACE_IS_RESERVED() GTEST_SKIP() << "the sanitizer reserves address space"
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define SKIP_IF_ADDRESS_SPACE_IS_RESERVED() GTEST_SKIP() << "ThreadSanitizer reserves address space"
#endif
#ifndef SKIP_IF_ADDRESS_SPACE_IS_RESERVED
#define SKIP_IF_ADDRESS_SPACE_IS_RESERVED() static_cast<void>(0)
#endif

namespace toccata::gguf {
namespace {

constexpr uint32_t kF32 = 0, kQ4_0 = 2, kQ4_K = 12;
constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();

struct BadFile {
  const char* name;
  std::string bytes;
  ErrorCode code;
  const char* says;  // a part of the message
};

// Header fields with any values.
Bytes header(uint32_t version, uint64_t tensors, uint64_t keys) {
  return Bytes().raw("GGUF").number(version).number(tensors).number(keys);
}

Writer claims(int64_t tensors, int64_t keys) {
  Writer writer;
  writer.claimed_tensors = tensors;
  writer.claimed_keys = keys;
  return writer;
}

std::string without_tail(std::string bytes, size_t cut) { return bytes.substr(0, bytes.size() - cut); }

// The payload of an array value.
std::string array(uint32_t element, uint64_t count, std::string_view elements = {}) {
  return Bytes().number(element).number(count).raw(elements).str();
}

std::string nested_array(int depth) {
  Bytes bytes;
  for (int i = 1; i < depth; ++i) bytes.number<uint32_t>(9).number<uint64_t>(1);
  return bytes.number<uint32_t>(0).number<uint64_t>(0).str();
}

std::vector<BadFile> bad_headers() {
  const auto invalid = ErrorCode::kInvalidFile, unsupported = ErrorCode::kUnsupported;
  const std::string rest(40, '\0');
  return {
      {"other", "hello, world", invalid, "it begins with 'hell', not with 'GGUF'"},
      {"control", "\n\x1b[2", invalid, "it begins with '\\x0a\\x1b[2', not with"},
      {"short", "GG", invalid, "it begins with 'GG', not with"},
      {"magic_only", "GGUF", invalid, "the file ends inside the header"},
      {"half_header", Bytes().raw("GGUF").number(3).number(1).str(), invalid, "the file ends inside the header"},
      {"big_endian", header(0x03000000, 0, 0).str(), unsupported, "big-endian"},
      {"big_endian_magic", "FUGG" + rest, unsupported, "big-endian"},
      {"version_0", header(0, 0, 0).str(), unsupported, "GGUF version 0 is not supported"},
      {"version_1", header(1, 0, 0).str(), unsupported, "GGUF version 1 is not supported"},
      {"version_4", header(4, 0, 0).str(), unsupported, "GGUF version 4 is not supported"},
      {"ggml", "lmgg" + rest, unsupported, "old GGML format"},
      {"ggmf", "fmgg" + rest, unsupported, "old GGMF format"},
      {"ggjt", "tjgg" + rest, unsupported, "old GGJT format"},
      {"ggla", "algg" + rest, unsupported, "old GGLA format"},
      {"zip", "PK\x03\x04" + rest, unsupported, "zip archive"},
      {"lfs", "version https://git-lfs.github.com/spec/v1\n", unsupported, "Git LFS pointer"},
      {"html", "<!DOCTYPE html><html>", unsupported, "a web page"},
      {"safetensors", Bytes().number<uint64_t>(2).raw("{}  ").str(), unsupported, "safetensors"},
      {"keys", header(3, 0, 1000).raw(rest).str(), invalid, "claims 1000 metadata keys, which the remaining 40 bytes"},
      {"keys_huge", header(3, 0, kHuge).raw(rest).str(), invalid, "claims 18446744073709551615 metadata keys"},
      {"tensors", header(3, 1000, 0).raw(rest).str(), invalid, "claims 1000 tensors, which the remaining 40 bytes"},
      {"tensors_huge", header(3, kHuge, 0).raw(rest).str(), invalid, "claims 18446744073709551615 tensors"},
      {"keys_limit", header(3, 0, limits::kKeys + 1).raw(std::string(14 * (limits::kKeys + 1), '\0')).str(),
       unsupported, "at most 65536 are supported"},
  };
}

std::vector<BadFile> bad_metadata() {
  const auto invalid = ErrorCode::kInvalidFile, unsupported = ErrorCode::kUnsupported;
  const auto key = [](ValueType type, const std::string& payload) {
    return Writer().key("k.x", type, payload).bytes();
  };
  const auto typed = [&](uint32_t type, const std::string& payload) {
    return key(static_cast<ValueType>(type), payload);
  };
  const auto length = [](uint64_t n) { return Bytes().number(n).str(); };
  return {
      {"key_missing", claims(0, 2).u32("first", 1).raw_tail(std::string(20, '\xff')).bytes(), invalid,
       "the name of metadata key 2 (after 'first')"},
      {"key_empty", Writer().u32("", 1).bytes() + std::string(8, '\0'), invalid,
       "the name of metadata key 1 has 0 bytes"},
      {"key_long", Writer().u32(std::string(65536, 'k'), 1).bytes(), invalid, "has 65536 bytes; 1 to 65535"},
      {"key_twice", Writer().u32("k.x", 1).f32("k.x", 1).bytes(), invalid, "'k.x': the key occurs twice"},
      {"key_newline", Writer().key("a\nb", ValueType::kBool, "\x02").bytes(), invalid, "metadata key 'a\\x0ab': "},
      {"type_13", typed(13, "1234"), invalid, "'k.x': its value type 13 does not exist"},
      {"type_huge", typed(0xffffffff, "1234"), invalid, "its value type 4294967295 does not exist"},
      {"type_cut", without_tail(Writer().key(std::string(40, 'k'), ValueType::kUint32, "1234").bytes(), 6), invalid,
       "kkk': the file ends inside its value"},
      {"value_cut", without_tail(key(ValueType::kUint64, length(1)), 1), invalid,
       "'k.x': the file ends inside its value"},
      {"float_cut", without_tail(key(ValueType::kFloat64, length(1)), 1), invalid, "the file ends inside its value"},
      {"bool_2", key(ValueType::kBool, "\x02"), invalid, "'k.x': the boolean has the value 2, not 0 or 1"},
      {"string_cut", key(ValueType::kString, length(5) + "abcd"), invalid, "'k.x': the string is longer than the rest"},
      {"string_wrap", key(ValueType::kString, length(kHuge)), invalid, "'k.x': the string is longer than the rest"},
      {"string_length_cut", key(ValueType::kString, "\x01\x00"), invalid, "'k.x': the string is longer than the rest"},
      {"array_header_cut", key(ValueType::kArray, "\x04"), invalid, "'k.x': the file ends inside its value"},
      {"array_count_cut", key(ValueType::kArray, without_tail(array(4, 1), 1)), invalid,
       "the file ends inside its value"},
      {"array_type", key(ValueType::kArray, array(77, 1, "1234")), invalid, "'k.x': its value type 77 does not exist"},
      {"array_count", key(ValueType::kArray, array(4, 4, std::string(15, '\0'))), invalid,
       "'k.x': the array claims 4 elements of type uint32, which the remaining 15 bytes"},
      {"array_wrap", key(ValueType::kArray, array(10, (uint64_t{1} << 61) + 1, std::string(8, '\0'))), invalid,
       "claims 2305843009213693953 elements of type uint64"},
      {"array_strings", key(ValueType::kArray, array(8, uint64_t{1} << 40, std::string(64, '\0'))), invalid,
       "claims 1099511627776 elements of type string"},
      {"array_string_cut", key(ValueType::kArray, array(8, 2, length(1) + "x" + length(9) + "12345678")), invalid,
       "'k.x': element 1 of the array is longer than the rest"},
      {"array_arrays", key(ValueType::kArray, array(9, uint64_t{1} << 32, std::string(64, '\0'))), invalid,
       "claims 4294967296 elements of type array"},
      {"array_bool", key(ValueType::kArray, array(7, 3, std::string_view("\x01\x00\xff", 3))), invalid,
       "'k.x': element 2 of the boolean array has the value 255, not 0 or 1"},
      {"array_deep", key(ValueType::kArray, nested_array(5)), unsupported, "'k.x': arrays are nested more than 4 deep"},
      {"array_very_deep", key(ValueType::kArray, nested_array(100'000)), unsupported, "nested more than 4 deep"},
      {"array_many", key(ValueType::kArray, array(9, 65537, std::string(65537 * 12, '\0'))), unsupported,
       "'k.x': more than 65536 nested arrays"},
  };
}

std::vector<BadFile> bad_alignments() {
  const auto invalid = ErrorCode::kInvalidFile;
  std::vector<BadFile> files;
  for (const auto& [name, value] : {std::pair("0", 0u), {"4", 4u}, {"12", 12u}, {"33", 33u}, {"huge", 0x80000000u}}) {
    files.push_back({name, Writer().u32("general.alignment", value).bytes(), invalid,
                     "metadata key 'general.alignment': the value "});
  }
  files.push_back({"align_string", Writer().text("general.alignment", "32").bytes(), invalid,
                   "metadata key 'general.alignment': its type is string, not uint32"});
  files.push_back(
      {"align_int", Writer().i32("general.alignment", 32).bytes(), invalid, "its type is int32, not uint32"});
  return files;
}

std::vector<BadFile> bad_tensors() {
  const auto invalid = ErrorCode::kInvalidFile, unsupported = ErrorCode::kUnsupported;
  const std::string data(256, '\0');
  const auto one = [&](uint32_t type, const std::vector<uint64_t>& dims, uint64_t offset) {
    return Writer().record("blk.0.w", type, dims, offset).data(data).bytes();
  };
  const auto named = [&](const std::string& name) { return Writer().record(name, kF32, {4}, 0).data(data).bytes(); };
  const uint64_t half = uint64_t{1} << 32;
  std::string cut_record = Writer().record("blk.0.w", kF32, {4, 4}, 0).bytes();
  return {
      {"name_empty", named(""), invalid, "the name of tensor 1 ('') has 0 bytes"},
      {"name_long", named(std::string(65, 'n')), invalid, "has 65 bytes; 1 to 64 are allowed"},
      {"name_twice", Writer().record("w", 0, {4}, 0).record("w", 0, {4}, 32).data(data).bytes(), invalid,
       "tensor 'w' occurs twice"},
      {"name_cut", claims(1, 0).raw_tail(std::string(40, '\xff')).bytes(), invalid, "inside the name of tensor 1"},
      {"dims_0", one(kF32, {}, 0), invalid, "'blk.0.w': it has 0 dimensions"},
      {"dims_5", one(kF32, {1, 1, 1, 1, 1}, 0), invalid, "'blk.0.w': it has 5 dimensions"},
      {"dim_zero", one(kF32, {4, 0}, 0), invalid, "'blk.0.w': dimension 1 is 0"},
      {"dim_huge", one(kF32, {kHuge}, 0), invalid, "'blk.0.w': the product of its dimensions exceeds"},
      {"dims_wrap", one(kF32, {half, half}, 0), invalid, "'blk.0.w': the product of its dimensions exceeds"},
      {"dims_wrap_small", one(kF32, {half, half, half, 1}, 0), invalid, "the product of its dimensions exceeds"},
      {"dims_negative", one(kF32, {uint64_t{1} << 63}, 0), invalid, "the product of its dimensions exceeds"},
      {"bytes_wrap", one(kF32, {uint64_t{1} << 62}, 0), invalid,
       "'blk.0.w': its 4611686018427387904 blocks of F32 need"},
      {"bytes_large", one(kF32, {1000}, 0), invalid, "'blk.0.w': its 1000 blocks of F32 need more than the"},
      {"type_unknown", one(77, {32}, 0), unsupported, "'blk.0.w': its type 77 is not supported"},
      {"type_named", one(16, {256}, 0), unsupported, "'blk.0.w': its type 16 (IQ2_XXS) is not supported"},
      {"type_i32", one(26, {8}, 0), unsupported, "'blk.0.w': its type 26 (I32) is not supported"},
      {"row_q4_0", one(kQ4_0, {48}, 0), invalid, "rows have 48 elements, not a multiple of the 32 in a block of Q4_0"},
      {"row_q4_k", one(kQ4_K, {128, 2}, 0), invalid, "rows have 128 elements, not a multiple of the 256"},
      {"offset_odd", one(kF32, {4}, 33), invalid, "'blk.0.w': its offset 33 is not a multiple of the alignment 32"},
      {"offset_far", one(kF32, {4}, 512), invalid, "'blk.0.w': its data (16 bytes at offset 512 of the data section"},
      {"offset_edge", one(kF32, {9}, 224), invalid, "passes the end of the file"},
      {"offset_wrap", one(kF32, {4}, kHuge - 31), invalid, "'blk.0.w': its data (16 bytes at offset 1844674407370955"},
      {"offset_wrap_end", one(kF32, {16}, kHuge - 95), invalid, "passes the end of the file"},
      {"no_data", Writer().record("blk.0.w", kF32, {4}, 0).bytes(), invalid, "passes the end of the file"},
      {"overlap", Writer().record("a", 0, {16}, 0).record("b", 0, {4}, 32).data(data).bytes(), invalid,
       "tensor 'b': its data overlaps that of tensor 'a'"},
      {"overlap_one_byte",  // MXFP4 has odd sizes: 17 bytes
       Writer().u32("general.alignment", 16).record("a", 39, {32}, 0).record("b", 0, {4}, 16).data(data).bytes(),
       invalid, "tensor 'b': its data overlaps that of tensor 'a'"},
      {"same_place", Writer().record("a", 0, {4}, 0).record("b", 0, {4}, 0).data(data).bytes(), invalid, "overlaps"},
      {"record_cut_offset", without_tail(cut_record, 1), invalid, "'blk.0.w': the file ends inside its record"},
      {"record_cut_type", without_tail(cut_record, 10), invalid, "'blk.0.w': the file ends inside its record"},
      {"record_cut_dim", without_tail(cut_record, 13), invalid, "'blk.0.w': the file ends inside its record"},
  };
}

void expect_refused(const BadFile& bad) {
  SCOPED_TRACE(bad.name);
  const TestFolder folder;
  const auto file = File::open(folder.write("bad.gguf", bad.bytes));
  ASSERT_FALSE(file);
  const std::string& message = file.error().message;
  EXPECT_EQ(static_cast<int>(file.error().code), static_cast<int>(bad.code)) << message;
  EXPECT_NE(message.find(bad.says), std::string::npos) << message;
  EXPECT_NE(message.find("/bad.gguf: "), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_LT(message.size(), 500u) << message;
}

TEST(BadGguf, Headers) {
  for (const BadFile& bad : bad_headers()) expect_refused(bad);
}

TEST(BadGguf, Metadata) {
  for (const BadFile& bad : bad_metadata()) expect_refused(bad);
  for (const BadFile& bad : bad_alignments()) expect_refused(bad);
}

TEST(BadGguf, Tensors) {
  for (const BadFile& bad : bad_tensors()) expect_refused(bad);
}

Writer small_model() {
  Writer writer;
  writer.text("general.architecture", "llama").u32("n", 1).strings("s", {"a", "bc"}).boolean("b", true);
  return writer.tensor("a", DType::kF32, {4, 2}).tensor("b", DType::kQ8_0, {32, 2});
}

// Parses a copy of exactly these bytes, so that AddressSanitizer sees every read past their end.
bool parses(std::string_view bytes) {
  const std::vector<char> copy(bytes.begin(), bytes.end());
  const auto shard = parse_shard(std::as_bytes(std::span(copy)), "bad.gguf");
  EXPECT_TRUE(shard || shard.error().message.find('\n') == std::string::npos);
  return shard.has_value();
}

TEST(BadGguf, EveryTruncationIsRefused) {
  const std::string whole = small_model().bytes();
  const size_t used = whole.size() - 28;  // the last tensor has 68 bytes; its padding to 96 may be missing
  for (size_t size = 0; size <= whole.size(); ++size) {
    ASSERT_EQ(parses(whole.substr(0, size)), size >= used) << size;
  }
}

TEST(BadGguf, NoSingleByteChangeCrashes) {
  const std::string whole = small_model().bytes();
  int refused = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = whole;
      changed[i] = static_cast<char>(value);
      refused += parses(changed) ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 10'000);
}

// Lets the address space of this process grow by `bytes` more, no further.
void limit_memory(uint64_t bytes) {
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0;
  statm >> pages;
  const rlim_t limit = pages * static_cast<uint64_t>(getpagesize()) + bytes;
  const rlimit memory{limit, limit};
  setrlimit(RLIMIT_AS, &memory);
}

TEST(BadGgufDeathTest, RefusalsNeedLittleMemory) {
  SKIP_IF_ADDRESS_SPACE_IS_RESERVED();
  for (const auto& files : {bad_headers(), bad_metadata(), bad_tensors()}) {
    for (const BadFile& bad : files) {
      const TestFolder folder;
      const std::string path = folder.write("bad.gguf", bad.bytes);
      const auto child = [&] {
        limit_memory((8 << 20) + 4 * bad.bytes.size());
        _exit(File::open(path) ? 1 : 0);
      };
      EXPECT_EXIT(child(), testing::ExitedWithCode(0), "") << bad.name;
    }
  }
}

// A sparse file is as large as it likes at no cost, so its size supports any claim. The parser's own bounds hold.
TEST(BadGgufDeathTest, SparseFilesCannotForceLargeAllocations) {
  SKIP_IF_ADDRESS_SPACE_IS_RESERVED();
  const TestFolder folder;
  const std::vector<std::string> heads = {
      header(3, 0, 1 << 20).str(),
      header(3, 4 << 20, 0).str(),
      header(3, 0, 1).string("k").number<uint32_t>(9).raw(array(8, limits::kStrings + 1)).str(),
      header(3, 0, 1).string("k").number<uint32_t>(9).raw(array(9, 1 << 20)).str(),
      header(3, 0, 1).string(std::string(1 << 20, 'k')).str(),
  };
  for (const std::string& head : heads) {
    const std::string path = folder.write("sparse.gguf", head);
    std::filesystem::resize_file(path, 256 << 20);
    const auto child = [&] {
      limit_memory((256 << 20) + (8 << 20));  // the mapping and little else
      const auto file = File::open(path);
      if (!file) std::fprintf(stderr, "%s\n", file.error().message.c_str());
      _exit(file ? 1 : 0);
    };
    EXPECT_EXIT(child(), testing::ExitedWithCode(0), "sparse.gguf: ");
  }
}

}  // namespace
}  // namespace toccata::gguf
