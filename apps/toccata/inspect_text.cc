#include <algorithm>
#include <cstdio>

#include "inspect_report.h"
#include "output.h"

namespace toccata::cli {
namespace {

using gguf::printable;

constexpr uint64_t kShownElements = 6;  // of a long array
constexpr size_t kShownText = 100;      // bytes of a long text

template <class... Args>
std::string format(const char* pattern, Args... args) {
  char buffer[512];
  std::snprintf(buffer, sizeof(buffer), pattern, args...);
  return buffer;
}

std::string line(const char* label, const std::string& value) { return format("  %-16s ", label) + value + "\n"; }

std::string shape_text(const gguf::Tensor& tensor) {
  std::string text;
  for (const int64_t d : tensor.dims) text += (text.empty() ? "" : " x ") + std::to_string(d);
  return text;
}

std::string array_text(const gguf::Array& array) {
  std::string text = "[";
  const uint64_t shown = std::min(array.count, kShownElements);
  for (uint64_t i = 0; i < shown; ++i) {
    if (i > 0) text += ", ";
    if (!array.strings.empty()) {
      text += '"';
      text += printable(array.strings[i], 24);
      text += '"';
    } else if (!array.arrays.empty()) {
      text += array_text(array.arrays[i]);
    } else if (const auto integer = array.int_at(i)) {
      text += std::to_string(*integer);
    } else {
      text += format("%g", array.float_at(i).value_or(0));
    }
  }
  if (array.count > shown) text += format(", ... (%llu in all)", static_cast<unsigned long long>(array.count));
  return text + "]";
}

std::string value_text(const gguf::Value& value) {
  if (const auto* u = std::get_if<uint64_t>(&value.data)) return std::to_string(*u);
  if (const auto* i = std::get_if<int64_t>(&value.data)) return std::to_string(*i);
  if (const auto* d = std::get_if<double>(&value.data)) return format("%.9g", *d);
  if (const auto* b = std::get_if<bool>(&value.data)) return *b ? "true" : "false";
  if (const auto* s = std::get_if<std::string_view>(&value.data)) return printable(*s, kShownText);
  return array_text(std::get<gguf::Array>(value.data));
}

std::string type_text(const gguf::Value& value) {
  const auto* array = std::get_if<gguf::Array>(&value.data);
  if (array == nullptr) return std::string(gguf::value_type_name(value.type));
  return std::string(gguf::value_type_name(array->element)) + "[]";
}

std::string file_section(const InspectReport& r) {
  const gguf::File& file = *r.file;
  std::string parts = file.shards().size() > 1 ? format(", %zu parts", file.shards().size()) : "";
  return "File\n" + line("path", printable(r.path, 400)) +
         line("format", format("GGUF v%u%s, %zu metadata keys, %zu tensors", file.version(), parts.c_str(),
                               file.metadata().size(), file.tensors().size())) +
         line("size", size_text(static_cast<double>(file.file_bytes())));
}

std::string window_text(const model::ModelConfig& c) {
  const auto windows = std::count_if(c.window.begin(), c.window.end(), [](int64_t w) { return w > 0; });
  if (windows == 0) return "full";
  return format("sliding window of %lld in %lld of %d layers",
                static_cast<long long>(*std::max_element(c.window.begin(), c.window.end())),
                static_cast<long long>(windows), c.layers);
}

std::string rope_text(const model::ModelConfig& c) {
  std::string text = format("base %g, %d of %d dimensions, %s", c.rope.base, c.rope.dim, c.head_dim,
                            c.rope.interleaved ? "interleaved" : "halves");
  if (c.rope.linear_factor != 1.0) text += format(", linear factor %g", c.rope.linear_factor);
  if (c.yarn.enabled) {
    text += format(", YaRN factor %g from %lld tokens", c.yarn.factor, static_cast<long long>(c.yarn.original_context));
  }
  if (c.rope_local != c.rope) text += format("; base %g in window layers", c.rope_local.base);
  return text;
}

std::string model_section(const InspectReport& r) {
  const model::ModelConfig& c = *r.config;
  const auto tokenizer = r.file->get_string("tokenizer.ggml.model");
  const bool chat = r.file->find("tokenizer.chat_template") != nullptr;
  const bool tied = r.file->find_tensor("output.weight") == nullptr;
  return "Model\n" + line("architecture", c.architecture) + line("name", printable(c.name, kShownText)) +
         line("parameters", format("%.1f million", r.parameters / 1e6)) + line("layers", format("%d", c.layers)) +
         line("embedding", format("%d", c.dim)) + line("feed-forward", format("%d", c.ff_dim)) +
         line("heads", format("%d, sharing %d KV heads of size %d", c.heads, c.kv_heads, c.head_dim)) +
         line("attention", window_text(c)) + line("rope", rope_text(c)) +
         line("vocabulary", format("%lld tokens, output matrix %s", static_cast<long long>(c.vocab),
                                   tied ? "tied to the embedding" : "of its own")) +
         line("context", format("%lld tokens", static_cast<long long>(c.context_length))) +
         line("tokenizer", (tokenizer && *tokenizer ? printable(**tokenizer, 40) : std::string("none")) +
                               (chat ? ", chat template" : ", no chat template"));
}

std::string types_section(const InspectReport& r) {
  std::string text = "Tensor types\n";
  for (const TypeTotal& t : r.types) {
    const auto bytes = static_cast<double>(t.bytes);
    text += format("  %-8s %5lld tensors %12s %6.1f %%\n", std::string(dtype_info(t.type).name).c_str(),
                   static_cast<long long>(t.tensors), size_text(bytes).c_str(),
                   100 * bytes / static_cast<double>(r.weight_bytes));
  }
  return text;
}

std::string plan_section(const InspectReport& r) {
  const auto weights = static_cast<double>(r.weight_bytes);
  std::string text = "Memory plan\n" + line("weights", size_text(weights)) +
                     line("KV per token", size_text(static_cast<double>(r.kv_token_f16)) + " in f16, " +
                                              size_text(static_cast<double>(r.kv_token_f32)) + " in f32");
  text += format("  %12s %12s %12s %12s %12s\n", "context", "KV f16", "total", "KV f32", "total");
  for (const MemoryRow& row : r.plan) {
    text += format("  %12lld %12s %12s %12s %12s\n", static_cast<long long>(row.context), size_text(row.kv_f16).c_str(),
                   size_text(weights + row.kv_f16).c_str(), size_text(row.kv_f32).c_str(),
                   size_text(weights + row.kv_f32).c_str());
  }
  return text;
}

std::string metadata_section(const InspectReport& r) {
  std::string text = "Metadata\n";
  for (const auto& [key, value] : r.file->metadata()) {
    text += "  " + printable(key, 200) + " (" + type_text(value) + ") = " + value_text(value) + "\n";
  }
  return text;
}

std::string tensors_section(const InspectReport& r) {
  std::string text = "Tensors\n";
  for (const gguf::Tensor& tensor : r.file->tensors()) {
    text += format("  %-36s %-7s %-20s %12zu\n", printable(tensor.name).c_str(),
                   std::string(dtype_info(tensor.type).name).c_str(), shape_text(tensor).c_str(), tensor.bytes);
  }
  return text;
}

}  // namespace

std::string report_text(const InspectReport& r) {
  std::string text = file_section(r);
  if (r.config) text += "\n" + model_section(r);
  if (!r.types.empty()) text += "\n" + types_section(r);
  if (r.config) text += "\n" + plan_section(r);
  if (r.show_metadata) text += "\n" + metadata_section(r);
  if (r.show_tensors) text += "\n" + tensors_section(r);
  return text;
}

}  // namespace toccata::cli
