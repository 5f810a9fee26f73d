// Any bytes as a GGUF file: refused with one line, or read without a fault whatever they claim.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "format/gguf/shard.h"
#include "tensor/dequantize.h"

namespace {

using namespace toccata;

void require(bool condition) {
  if (!condition) std::abort();
}

void check_message(const std::string& message) {
  require(!message.empty() && message.size() < 1000);
  require(message.find('\n') == std::string::npos && message.find('\r') == std::string::npos);
  require(message.find("input") != std::string::npos || message.find("/proc/") != std::string::npos);
}

// Every element that the array claims must be readable.
void touch(const gguf::Array& array) {
  require(array.strings.empty() || array.strings.size() == array.count);
  require(array.arrays.empty() || array.arrays.size() == array.count);
  for (uint64_t i = 0; i < array.count; ++i) {
    array.int_at(i);
    array.float_at(i);
    if (!array.strings.empty()) gguf::printable(array.strings[i]);
    if (!array.arrays.empty()) touch(array.arrays[i]);
  }
  require(!array.int_at(array.count) && !array.float_at(array.count));
}

void touch(const gguf::Tensor& tensor) {
  const int64_t cols = tensor.cols();
  const size_t row = row_bytes(tensor.type, cols);
  require(cols > 0 && tensor.rows() > 0 && row * static_cast<size_t>(tensor.rows()) == tensor.bytes);
  std::vector<float> values(static_cast<size_t>(cols));
  for (int64_t r = 0; r < tensor.rows(); ++r) {
    dequantize_row(tensor.type, tensor.data + static_cast<size_t>(r) * row, cols, values.data());
  }
}

void touch(const gguf::Shard& shard) {
  for (const auto& [key, value] : shard.metadata) {
    gguf::printable(key);
    if (const auto* text = std::get_if<std::string_view>(&value.data)) gguf::printable(*text);
    if (const auto* array = std::get_if<gguf::Array>(&value.data)) touch(*array);
  }
  for (const gguf::Tensor& tensor : shard.tensors) touch(tensor);
}

// The same bytes through the public door, which adds the keys of split models and the typed look-ups.
void open_as_file(const uint8_t* data, size_t size) {
  const int fd = memfd_create("input", MFD_CLOEXEC);
  require(fd >= 0 && write(fd, data, size) == static_cast<ssize_t>(size));
  const auto file = gguf::File::open("/proc/self/fd/" + std::to_string(fd));
  close(fd);
  if (!file) return check_message(file.error().message);
  for (const auto& [key, value] : (*file)->metadata()) {
    require((*file)->find(key) == &value);
    const auto integer = (*file)->get_int(key);
    const auto real = (*file)->get_float(key);
    if (!integer) check_message(integer.error().message);
    if (!real) check_message(real.error().message);
  }
  for (const gguf::Tensor& tensor : (*file)->tensors()) require((*file)->find_tensor(tensor.name) == &tensor);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A copy of exactly this size, so that AddressSanitizer sees every read past the end.
  const std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(data),
                                     reinterpret_cast<const std::byte*>(data) + size);
  const auto shard = gguf::parse_shard(bytes, "input");
  if (shard) {
    touch(*shard);
  } else {
    check_message(shard.error().message);
  }
  if (size > 0) open_as_file(data, size);
  return 0;
}
