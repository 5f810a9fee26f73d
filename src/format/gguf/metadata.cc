// The metadata section: typed keys and values.
#include <optional>

#include "format/gguf/limits.h"
#include "format/gguf/shard.h"

namespace toccata::gguf {
namespace {

constexpr uint32_t kValueTypes = 13;

class MetadataParser {
 public:
  MetadataParser(Cursor& in, const std::string& path, Shard& shard) : in_(in), path_(path), shard_(shard) {}

  Status parse(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      if (auto ok = parse_pair(i); !ok) return ok;
    }
    return {};
  }

 private:
  Status parse_pair(uint64_t index);
  Status parse_value(Value& value);
  Status parse_array(Array& array, int depth);
  Status parse_strings(Array& array);
  Status parse_numbers(Array& array);
  Status read_type(ValueType& type);

  template <class File, class Stored>
  Status scalar(Value& value) {
    File number{};
    if (!in_.read(number)) return truncated();
    value.data = static_cast<Stored>(number);
    return {};
  }

  tl::unexpected<Error> bad(const std::string& what, ErrorCode code = ErrorCode::kInvalidFile) const {
    return fail(code, path_ + ": metadata key '" + printable(key_) + "': " + what);
  }
  tl::unexpected<Error> truncated() const { return bad("the file ends inside its value"); }

  Cursor& in_;
  const std::string& path_;
  Shard& shard_;
  std::string_view key_;
  uint64_t strings_ = 0;  // in arrays, over the whole file
  uint64_t arrays_ = 0;   // inside arrays, over the whole file
};

Status MetadataParser::parse_pair(uint64_t index) {
  if (!in_.read_string(key_)) {
    return fail(ErrorCode::kInvalidFile,
                path_ + ": the file ends inside the name of metadata key " + std::to_string(index + 1) + " (after '" +
                    (shard_.metadata.empty() ? "" : printable(shard_.metadata.back().first)) + "')");
  }
  if (key_.empty() || key_.size() > limits::kKeyBytes) {
    return fail(ErrorCode::kInvalidFile, path_ + ": the name of metadata key " + std::to_string(index + 1) + " has " +
                                             std::to_string(key_.size()) + " bytes; 1 to " +
                                             std::to_string(limits::kKeyBytes) + " are allowed");
  }
  std::string key(key_);
  if (!shard_.metadata_index.emplace(key, shard_.metadata.size()).second) return bad("the key occurs twice");
  Value value;
  if (auto ok = parse_value(value); !ok) return ok;
  shard_.metadata.emplace_back(std::move(key), std::move(value));
  return {};
}

Status MetadataParser::read_type(ValueType& type) {
  uint32_t number = 0;
  if (!in_.read(number)) return truncated();
  if (number >= kValueTypes) return bad("its value type " + std::to_string(number) + " does not exist");
  type = static_cast<ValueType>(number);
  return {};
}

Status MetadataParser::parse_value(Value& value) {
  if (auto ok = read_type(value.type); !ok) return ok;
  switch (value.type) {
    case ValueType::kUint8:
      return scalar<uint8_t, uint64_t>(value);
    case ValueType::kInt8:
      return scalar<int8_t, int64_t>(value);
    case ValueType::kUint16:
      return scalar<uint16_t, uint64_t>(value);
    case ValueType::kInt16:
      return scalar<int16_t, int64_t>(value);
    case ValueType::kUint32:
      return scalar<uint32_t, uint64_t>(value);
    case ValueType::kInt32:
      return scalar<int32_t, int64_t>(value);
    case ValueType::kUint64:
      return scalar<uint64_t, uint64_t>(value);
    case ValueType::kInt64:
      return scalar<int64_t, int64_t>(value);
    case ValueType::kFloat32:
      return scalar<float, double>(value);
    case ValueType::kFloat64:
      return scalar<double, double>(value);
    case ValueType::kBool: {
      uint8_t byte = 0;
      if (!in_.read(byte)) return truncated();
      if (byte > 1) return bad("the boolean has the value " + std::to_string(byte) + ", not 0 or 1");
      value.data = byte == 1;
      return {};
    }
    case ValueType::kString: {
      std::string_view text;
      if (!in_.read_string(text)) return bad("the string is longer than the rest of the file");
      value.data = text;
      return {};
    }
    case ValueType::kArray:
      return parse_array(value.data.emplace<Array>(), 1);
  }
  return {};
}

Status MetadataParser::parse_array(Array& array, int depth) {
  if (depth > limits::kArrayDepth) {
    return bad("arrays are nested more than " + std::to_string(limits::kArrayDepth) + " deep", ErrorCode::kUnsupported);
  }
  if (auto ok = read_type(array.element); !ok) return ok;
  if (!in_.read(array.count)) return truncated();
  // The smallest element: a number, an empty string (its length), an empty array (its type and count).
  const size_t fixed = value_type_bytes(array.element);
  const uint64_t least = fixed != 0 ? fixed : array.element == ValueType::kString ? 8 : 12;
  if (array.count > in_.remaining() / least) {
    return bad("the array claims " + std::to_string(array.count) + " elements of type " +
               std::string(value_type_name(array.element)) + ", which the remaining " +
               std::to_string(in_.remaining()) + " bytes of the file cannot hold");
  }
  if (array.element == ValueType::kString) return parse_strings(array);
  if (array.element != ValueType::kArray) return parse_numbers(array);
  arrays_ += array.count;
  if (arrays_ > limits::kArrays) {
    return bad("more than " + std::to_string(limits::kArrays) + " nested arrays", ErrorCode::kUnsupported);
  }
  for (uint64_t i = 0; i < array.count; ++i) {
    if (auto ok = parse_array(array.arrays.emplace_back(), depth + 1); !ok) return ok;
  }
  return {};
}

Status MetadataParser::parse_strings(Array& array) {
  strings_ += array.count;
  if (strings_ > limits::kStrings) {
    return bad("more than " + std::to_string(limits::kStrings) + " strings in arrays", ErrorCode::kUnsupported);
  }
  array.strings.reserve(array.count);
  for (uint64_t i = 0; i < array.count; ++i) {
    if (!in_.read_string(array.strings.emplace_back())) {
      return bad("element " + std::to_string(i) + " of the array is longer than the rest of the file");
    }
  }
  return {};
}

Status MetadataParser::parse_numbers(Array& array) {
  const uint64_t bytes = array.count * value_type_bytes(array.element);  // fits: checked against the file's size
  array.data = in_.take(bytes);
  if (array.element != ValueType::kBool) return {};
  for (uint64_t i = 0; i < array.count; ++i) {
    const int byte = static_cast<int>(array.data[i]);
    if (byte > 1) {
      return bad("element " + std::to_string(i) + " of the boolean array has the value " + std::to_string(byte) +
                 ", not 0 or 1");
    }
  }
  return {};
}

}  // namespace

Status parse_metadata(Cursor& in, uint64_t count, const std::string& path, Shard& shard) {
  return MetadataParser(in, path, shard).parse(count);
}

}  // namespace toccata::gguf
