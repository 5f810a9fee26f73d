// GGUF v2 and v3 files: metadata and tensors, checked against the file before anything uses them.
// Format: the GGUF specification of the ggml project.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/mapped_file.h"
#include "tensor/dtype.h"
#include "toccata/result.h"

namespace toccata::gguf {

enum class ValueType : uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64,
};

std::string_view value_type_name(ValueType type);  // "uint32", "string", ...
// Bytes of one value in the file; 0 for strings and arrays, whose size varies.
size_t value_type_bytes(ValueType type);

// Text from a file made fit for one line of a message: control bytes and invalid UTF-8 as \xNN, at most `limit` bytes
// of it, then "...".
std::string printable(std::string_view text, size_t limit = 96);

// A metadata array. Strings point into the mapped file; numbers stay in the file's bytes (may be unaligned).
struct Array {
  ValueType element = ValueType::kUint8;
  uint64_t count = 0;
  const std::byte* data = nullptr;                   // numbers: count * size bytes, little-endian
  std::vector<std::string_view> strings;             // element == kString
  std::vector<Array> arrays;                         // element == kArray
  std::optional<int64_t> int_at(uint64_t i) const;   // any integer or bool element type
  std::optional<double> float_at(uint64_t i) const;  // any numeric element type
};

struct Value {
  ValueType type = ValueType::kUint8;
  std::variant<uint64_t, int64_t, double, bool, std::string_view, Array> data;
};

struct Tensor {
  std::string name;
  DType type = DType::kF32;
  std::vector<int64_t> dims;        // GGUF order: dims[0] is the row length (k), dims[1] the number of rows
  const std::byte* data = nullptr;  // inside the mapped file
  size_t bytes = 0;
  int shard = 0;  // index for File::shards()
  int64_t cols() const { return dims.empty() ? 1 : dims[0]; }
  int64_t rows() const;  // product of the other dims
};

class File {
 public:
  // Opens a model; for a split model ("-00001-of-0000N.gguf") any shard's path opens all. On an error the message
  // names the file and the key or tensor. Nothing is allocated in proportion to a count that the file's size does
  // not support.
  static Result<std::shared_ptr<const File>> open(const std::string& path);

  uint32_t version() const { return version_; }
  // Metadata in file order (of the first shard).
  const std::vector<std::pair<std::string, Value>>& metadata() const { return metadata_; }
  const Value* find(std::string_view key) const;

  // Typed look-ups: nullopt when the key is absent; an error that names the key when it has another type (any
  // integer type satisfies get_int, any numeric type get_float) or does not fit.
  Result<std::optional<int64_t>> get_int(std::string_view key) const;
  Result<std::optional<double>> get_float(std::string_view key) const;
  Result<std::optional<bool>> get_bool(std::string_view key) const;
  Result<std::optional<std::string_view>> get_string(std::string_view key) const;
  Result<const Array*> get_array(std::string_view key) const;  // nullptr when absent

  const std::vector<Tensor>& tensors() const { return tensors_; }
  const Tensor* find_tensor(std::string_view name) const;

  const std::vector<std::unique_ptr<MappedFile>>& shards() const { return shards_; }
  uint64_t file_bytes() const;  // all shards

 private:
  friend class Parser;
  uint32_t version_ = 0;
  std::vector<std::unique_ptr<MappedFile>> shards_;
  std::vector<std::pair<std::string, Value>> metadata_;
  std::map<std::string, size_t, std::less<>> metadata_index_;
  std::vector<Tensor> tensors_;
  std::map<std::string, size_t, std::less<>> tensor_index_;
};

}  // namespace toccata::gguf
