// Builds GGUF files for tests, correct ones and, on purpose, wrong ones. Not used by the program.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/gguf/gguf.h"
#include "tensor/dtype.h"

namespace toccata::gguf {

// Little-endian fields, one after the other.
class Bytes {
 public:
  template <class T>
  Bytes& number(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Bytes& string(std::string_view text) { return number<uint64_t>(text.size()).raw(text); }
  Bytes& raw(std::string_view text) {
    text_ += text;
    return *this;
  }
  Bytes& pad_to(size_t multiple) {
    text_.resize((text_.size() + multiple - 1) / multiple * multiple);
    return *this;
  }
  const std::string& str() const { return text_; }
  size_t size() const { return text_.size(); }

 private:
  std::string text_;
};

// Keys and tensors in the order of the calls; every field can be given a false value.
class Writer {
 public:
  uint32_t version = 3;
  size_t alignment = 32;         // of the tensor data; add the key yourself if it is not 32
  int64_t claimed_keys = -1;     // -1: the true number
  int64_t claimed_tensors = -1;  // -1: the true number

  // A key with the value's bytes as they are in the file.
  Writer& key(std::string_view name, ValueType type, std::string_view payload) {
    keys_.string(name).number(static_cast<uint32_t>(type)).raw(payload);
    ++key_count_;
    return *this;
  }
  Writer& u32(std::string_view name, uint32_t value) { return scalar(name, ValueType::kUint32, value); }
  Writer& i32(std::string_view name, int32_t value) { return scalar(name, ValueType::kInt32, value); }
  Writer& f32(std::string_view name, float value) { return scalar(name, ValueType::kFloat32, value); }
  Writer& boolean(std::string_view name, bool value) { return scalar<uint8_t>(name, ValueType::kBool, value ? 1 : 0); }
  Writer& text(std::string_view name, std::string_view value) {
    return key(name, ValueType::kString, Bytes().string(value).str());
  }
  template <class T>
  Writer& scalar(std::string_view name, ValueType type, T value) {
    return key(name, type, Bytes().number(value).str());
  }
  // An array of numbers, T being the C++ type of `element`.
  template <class T>
  Writer& array(std::string_view name, ValueType element, const std::vector<T>& values) {
    Bytes bytes;
    bytes.number(static_cast<uint32_t>(element)).template number<uint64_t>(values.size());
    for (const T value : values) bytes.number(value);
    return key(name, ValueType::kArray, bytes.str());
  }
  Writer& strings(std::string_view name, const std::vector<std::string>& values) {
    Bytes bytes;
    bytes.number(static_cast<uint32_t>(ValueType::kString)).number<uint64_t>(values.size());
    for (const std::string& value : values) bytes.string(value);
    return key(name, ValueType::kArray, bytes.str());
  }

  // A tensor whose data follows that of the previous one. Empty `data`: zeros.
  Writer& tensor(std::string_view name, DType type, const std::vector<int64_t>& dims, std::string data = {}) {
    int64_t rows = 1;
    for (size_t d = 1; d < dims.size(); ++d) rows *= dims[d];
    data.resize(row_bytes(type, dims.at(0)) * static_cast<size_t>(rows));
    record(name, dtype_info(type).gguf_id, {dims.begin(), dims.end()}, data_.size());
    data_.raw(data).pad_to(alignment);
    return *this;
  }
  // A tensor record with any contents; data only if you add it with data().
  Writer& record(std::string_view name, uint32_t type, const std::vector<uint64_t>& dims, uint64_t offset) {
    records_.string(name).number(static_cast<uint32_t>(dims.size()));
    for (const uint64_t d : dims) records_.number(d);
    records_.number(type).number(offset);
    ++tensor_count_;
    return *this;
  }
  Writer& data(std::string_view bytes) {
    data_.raw(bytes).pad_to(alignment);
    return *this;
  }

  // Bytes after the last record in place of anything else.
  Writer& raw_tail(std::string_view bytes) {
    records_.raw(bytes);
    return *this;
  }

  std::string bytes() const {
    Bytes file;
    file.raw("GGUF").number(version);
    file.number(claimed_tensors < 0 ? tensor_count_ : static_cast<uint64_t>(claimed_tensors));
    file.number(claimed_keys < 0 ? key_count_ : static_cast<uint64_t>(claimed_keys));
    file.raw(keys_.str()).raw(records_.str());
    if (data_.size() > 0) file.pad_to(alignment).raw(data_.str());
    return file.str();
  }

 private:
  Bytes keys_, records_, data_;
  uint64_t key_count_ = 0, tensor_count_ = 0;
};

// A folder of this process below the system's temporary one, removed with its contents at the end.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "toccata-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  // Writes a file and returns its path.
  std::string write(const std::string& name, std::string_view bytes) const {
    const std::string path = (path_ / name).string();
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  std::string path(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace toccata::gguf
