#include "format/gguf/gguf.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/utf8.h"

namespace toccata::gguf {
namespace {

struct TypeInfo {
  std::string_view name;
  size_t bytes;
};

constexpr TypeInfo kTypes[] = {
    {"uint8", 1}, {"int8", 1},   {"uint16", 2}, {"int16", 2},  {"uint32", 4}, {"int32", 4},   {"float32", 4},
    {"bool", 1},  {"string", 0}, {"array", 0},  {"uint64", 8}, {"int64", 8},  {"float64", 8},
};

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

std::optional<int64_t> to_int64(uint64_t value) {
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  return static_cast<int64_t>(value);
}

tl::unexpected<Error> wrong(const File& file, std::string_view key, const std::string& what) {
  return fail(ErrorCode::kInvalidFile,
              file.shards().front()->path() + ": metadata key '" + printable(key) + "': " + what);
}

tl::unexpected<Error> wrong_type(const File& file, std::string_view key, const Value& value, const char* wanted) {
  return wrong(file, key, "its type is " + std::string(value_type_name(value.type)) + ", not " + wanted);
}

}  // namespace

std::string_view value_type_name(ValueType type) { return kTypes[static_cast<size_t>(type)].name; }
size_t value_type_bytes(ValueType type) { return kTypes[static_cast<size_t>(type)].bytes; }

std::string printable(std::string_view text, size_t limit) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text.front());
    const utf8::Decoded decoded = utf8::decode(text.substr(0, 4));
    // C0 and C1 control characters, and the separators that some terminals break lines at, are not printed as such.
    const uint32_t p = decoded.code_point;
    const bool visible = decoded.length > 0 && p >= 0x20 && !(p >= 0x7f && p < 0xa0) && p != 0x2028 && p != 0x2029;
    const size_t used = visible ? static_cast<size_t>(decoded.length) : 1;
    if (out.size() + (visible ? used : 4) > limit) return out + "...";
    if (visible) {
      out += text.substr(0, used);
    } else {
      out += {'\\', 'x', kHex[c >> 4], kHex[c & 15]};
    }
    text.remove_prefix(used);
  }
  return out;
}

std::optional<int64_t> Array::int_at(uint64_t i) const {
  const size_t bytes = value_type_bytes(element);
  if (i >= count || data == nullptr || bytes == 0) return std::nullopt;
  const std::byte* at = data + i * bytes;
  switch (element) {
    case ValueType::kUint8:
    case ValueType::kBool:
      return load<uint8_t>(at);
    case ValueType::kInt8:
      return load<int8_t>(at);
    case ValueType::kUint16:
      return load<uint16_t>(at);
    case ValueType::kInt16:
      return load<int16_t>(at);
    case ValueType::kUint32:
      return load<uint32_t>(at);
    case ValueType::kInt32:
      return load<int32_t>(at);
    case ValueType::kUint64:
      return to_int64(load<uint64_t>(at));
    case ValueType::kInt64:
      return load<int64_t>(at);
    default:
      return std::nullopt;
  }
}

std::optional<double> Array::float_at(uint64_t i) const {
  if (i >= count || data == nullptr || element == ValueType::kBool) return std::nullopt;
  if (element == ValueType::kFloat32) return load<float>(data + i * 4);
  if (element == ValueType::kFloat64) return load<double>(data + i * 8);
  if (element == ValueType::kUint64) return static_cast<double>(load<uint64_t>(data + i * 8));
  const auto integer = int_at(i);
  if (!integer) return std::nullopt;
  return static_cast<double>(*integer);
}

int64_t Tensor::rows() const {
  int64_t product = 1;
  for (size_t d = 1; d < dims.size(); ++d) product *= dims[d];
  return product;
}

const Value* File::find(std::string_view key) const {
  const auto it = metadata_index_.find(key);
  return it == metadata_index_.end() ? nullptr : &metadata_[it->second].second;
}

Result<std::optional<int64_t>> File::get_int(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* i = std::get_if<int64_t>(&value->data)) return *i;
  const auto* u = std::get_if<uint64_t>(&value->data);
  if (u == nullptr) return wrong_type(*this, key, *value, "an integer");
  const auto fitted = to_int64(*u);
  if (!fitted) return wrong(*this, key, "the value " + std::to_string(*u) + " is too large");
  return fitted;
}

Result<std::optional<double>> File::get_float(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* d = std::get_if<double>(&value->data)) return *d;
  if (const auto* i = std::get_if<int64_t>(&value->data)) return static_cast<double>(*i);
  if (const auto* u = std::get_if<uint64_t>(&value->data)) return static_cast<double>(*u);
  return wrong_type(*this, key, *value, "a number");
}

Result<std::optional<bool>> File::get_bool(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* b = std::get_if<bool>(&value->data)) return *b;
  return wrong_type(*this, key, *value, "bool");
}

Result<std::optional<std::string_view>> File::get_string(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* s = std::get_if<std::string_view>(&value->data)) return *s;
  return wrong_type(*this, key, *value, "string");
}

Result<const Array*> File::get_array(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return nullptr;
  if (const auto* a = std::get_if<Array>(&value->data)) return a;
  return wrong_type(*this, key, *value, "array");
}

const Tensor* File::find_tensor(std::string_view name) const {
  const auto it = tensor_index_.find(name);
  return it == tensor_index_.end() ? nullptr : &tensors_[it->second];
}

uint64_t File::file_bytes() const {
  uint64_t total = 0;
  for (const auto& shard : shards_) total += shard->size();
  return total;
}

}  // namespace toccata::gguf
