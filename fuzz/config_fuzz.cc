// Any metadata as that of a model: refused with one line that names the key, or a configuration that keeps its
// promises. Each line of the input is a key: "TYPE KEY VALUE...", for example "u llama.block_count 12"; a "*" after the
// type makes an array. "rows N" is the height of the embedding.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "format/gguf/test_writer.h"
#include "model/config.h"
#include "model/rope_table.h"

namespace {

using namespace toccata;
using gguf::ValueType;

constexpr int64_t kMaxRows = 4096;  // keeps a run short

void require(bool condition) {
  if (!condition) std::abort();
}

std::string_view next_word(std::string_view& text, char end) {
  const std::string_view word = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

template <class T>
void append_number(gguf::Bytes& bytes, std::string_view text) {
  if constexpr (std::is_floating_point_v<T>) {
    bytes.number(static_cast<T>(std::strtod(std::string(text).c_str(), nullptr)));
  } else {
    bytes.number(static_cast<T>(std::strtoull(std::string(text).c_str(), nullptr, 10)));
  }
}

using Append = void (*)(gguf::Bytes&, std::string_view);

struct Kind {
  char letter;
  ValueType type;
  Append append;
};

constexpr Kind kKinds[] = {
    {'u', ValueType::kUint32, append_number<uint32_t>},
    {'U', ValueType::kUint64, append_number<uint64_t>},
    {'i', ValueType::kInt32, append_number<int32_t>},
    {'I', ValueType::kInt64, append_number<int64_t>},
    {'f', ValueType::kFloat32, append_number<float>},
    {'d', ValueType::kFloat64, append_number<double>},
    {'b', ValueType::kBool, [](gguf::Bytes& bytes, std::string_view text) { bytes.number<uint8_t>(text == "1"); }},
    {'s', ValueType::kString, [](gguf::Bytes& bytes, std::string_view text) { bytes.string(text); }},
};

void add_array(gguf::Writer& writer, const Kind& kind, std::string_view key, std::string_view values) {
  gguf::Bytes elements;
  uint64_t count = 0;
  for (; !values.empty(); ++count) kind.append(elements, next_word(values, ' '));
  gguf::Bytes payload;
  payload.number(static_cast<uint32_t>(kind.type)).number(count).raw(elements.str());
  writer.key(key, ValueType::kArray, payload.str());
}

void add_line(gguf::Writer& writer, std::string_view line, int64_t& rows) {
  const std::string_view type = next_word(line, ' ');
  if (type == "rows") {
    rows = std::clamp<int64_t>(std::strtoll(std::string(line).c_str(), nullptr, 10), 0, kMaxRows);
    return;
  }
  const std::string_view key = next_word(line, ' ');
  for (const Kind& kind : kKinds) {
    if (type.empty() || type[0] != kind.letter) continue;
    if (type.size() > 1) return add_array(writer, kind, key, line);
    gguf::Bytes payload;
    kind.append(payload, line);
    writer.key(key, kind.type, payload.str());
  }
}

std::string file_of(std::string_view text) {
  gguf::Writer writer;
  int64_t rows = 2;
  while (!text.empty()) add_line(writer, next_word(text, '\n'), rows);
  if (rows > 0) writer.tensor("token_embd.weight", DType::kF16, {1, rows});
  return writer.bytes();
}

void check_message(const std::string& message) {
  require(message.size() < 1000 && message.find('\n') == std::string::npos && message.find('\r') == std::string::npos);
  require(message.find("/proc/") != std::string::npos);
}

void check_rope(const model::ModelConfig& c, const model::RopeConfig& rope) {
  require(rope.dim >= 2 && rope.dim % 2 == 0 && rope.dim <= c.head_dim);
  const model::RopeTable table(rope, c.yarn, nullptr);
  require(table.half_dim() == rope.dim / 2);
  std::vector<float> cos(static_cast<size_t>(table.half_dim())), sin(cos.size());
  for (const int64_t position : {int64_t{0}, int64_t{1}, c.context_length - 1}) {
    table.fill(position, cos.data(), sin.data());
    for (size_t i = 0; i < cos.size(); ++i) require(std::isfinite(cos[i]) && std::isfinite(sin[i]));
  }
}

void check_config(const model::ModelConfig& c) {
  require(c.layers >= 1 && c.dim >= 1 && c.ff_dim >= 1 && c.vocab >= 1 && c.context_length >= 1);
  require(c.kv_heads >= 1 && c.heads >= c.kv_heads && c.heads % c.kv_heads == 0);
  require(c.head_dim >= 8 && c.head_dim % 8 == 0 && c.head_dim <= 512);
  require(c.norm_eps > 0 && std::isfinite(c.norm_eps) && std::isfinite(c.embedding_scale));
  require(c.attn_scale > 0 && std::isfinite(c.attn_scale));
  require(c.window.size() == static_cast<size_t>(c.layers));
  for (const int64_t window : c.window) require(window >= 0);
  check_rope(c, c.rope);
  check_rope(c, c.rope_local);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes = file_of(std::string_view(reinterpret_cast<const char*>(data), size));
  const int fd = memfd_create("model", MFD_CLOEXEC);
  require(fd >= 0 && write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const auto file = gguf::File::open("/proc/self/fd/" + std::to_string(fd));
  close(fd);
  if (!file) {
    check_message(file.error().message);
    return 0;
  }
  const auto config = model::read_config(**file);
  if (config) {
    check_config(*config);
  } else {
    check_message(config.error().message);
  }
  return 0;
}
