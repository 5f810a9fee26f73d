#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "inspect_report.h"
#include "json_reader.h"
#include "text/tokenizer/utf8_runs.h"

namespace toccata::cli {
namespace json = boost::json;
namespace {

constexpr uint64_t kShownElements = 16;  // of a long array

// A count of bytes as an integer while that is exact.
json::value bytes_value(double bytes) {
  return bytes < 0x1p53 ? json::value(static_cast<uint64_t>(bytes)) : json::value(bytes);
}

json::object array_json(const gguf::Array& array) {
  json::array first;
  for (uint64_t i = 0; i < std::min(array.count, kShownElements); ++i) {
    if (!array.strings.empty()) {
      first.push_back(json::value(to_valid_utf8(array.strings[i])));
    } else if (!array.arrays.empty()) {
      first.push_back(array_json(array.arrays[i]));
    } else if (const auto integer = array.int_at(i)) {
      first.push_back(array.element == gguf::ValueType::kBool ? json::value(*integer == 1) : json::value(*integer));
    } else {
      first.push_back(json_number(array.float_at(i).value_or(0)));
    }
  }
  return {{"element", gguf::value_type_name(array.element)}, {"count", array.count}, {"first", std::move(first)}};
}

json::value value_json(const gguf::Value& value) {
  if (const auto* u = std::get_if<uint64_t>(&value.data)) return *u;
  if (const auto* i = std::get_if<int64_t>(&value.data)) return *i;
  if (const auto* d = std::get_if<double>(&value.data)) return json_number(*d);
  if (const auto* b = std::get_if<bool>(&value.data)) return *b;
  if (const auto* s = std::get_if<std::string_view>(&value.data)) return json::value(to_valid_utf8(*s));
  return array_json(std::get<gguf::Array>(value.data));
}

json::object rope_json(const model::RopeConfig& rope) {
  return {{"base", rope.base},
          {"linear_factor", rope.linear_factor},
          {"dimensions", rope.dim},
          {"interleaved", rope.interleaved}};
}

json::object model_json(const model::ModelConfig& c) {
  json::object o = {{"architecture", c.architecture},
                    {"name", to_valid_utf8(c.name)},
                    {"layers", c.layers},
                    {"embedding_length", c.dim},
                    {"feed_forward_length", c.ff_dim},
                    {"heads", c.heads},
                    {"kv_heads", c.kv_heads},
                    {"head_size", c.head_dim},
                    {"vocabulary", c.vocab},
                    {"context_length", c.context_length},
                    {"norm_epsilon", c.norm_eps},
                    {"windows", json::array(c.window.begin(), c.window.end())},
                    {"rope", rope_json(c.rope)}};
  if (c.rope_local != c.rope) o["rope_local"] = rope_json(c.rope_local);
  if (c.yarn.enabled) {
    o["yarn"] = json::object{{"factor", c.yarn.factor}, {"original_context_length", c.yarn.original_context}};
  }
  return o;
}

json::object plan_json(const InspectReport& r) {
  const auto weights = static_cast<double>(r.weight_bytes);
  json::array rows;
  for (const MemoryRow& row : r.plan) {
    rows.push_back(json::object{{"context", row.context},
                                {"kv_f16_bytes", bytes_value(row.kv_f16)},
                                {"total_f16_bytes", bytes_value(weights + row.kv_f16)},
                                {"kv_f32_bytes", bytes_value(row.kv_f32)},
                                {"total_f32_bytes", bytes_value(weights + row.kv_f32)}});
  }
  return {{"weight_bytes", r.weight_bytes},
          {"kv_bytes_per_token_f16", r.kv_token_f16},
          {"kv_bytes_per_token_f32", r.kv_token_f32},
          {"contexts", std::move(rows)}};
}

json::array types_json(const InspectReport& r) {
  json::array types;
  for (const TypeTotal& t : r.types) {
    types.push_back(json::object{{"type", dtype_info(t.type).name}, {"tensors", t.tensors}, {"bytes", t.bytes}});
  }
  return types;
}

json::array tensors_json(const gguf::File& file) {
  json::array tensors;
  for (const gguf::Tensor& t : file.tensors()) {
    tensors.push_back(json::object{{"name", to_valid_utf8(t.name)},
                                   {"type", dtype_info(t.type).name},
                                   {"shape", json::array(t.dims.begin(), t.dims.end())},
                                   {"bytes", t.bytes}});
  }
  return tensors;
}

}  // namespace

std::string report_json(const InspectReport& r) {
  json::object o = {{"path", to_valid_utf8(r.path)},
                    {"gguf_version", r.file->version()},
                    {"parts", r.file->shards().size()},
                    {"file_bytes", r.file->file_bytes()},
                    {"parameters", bytes_value(r.parameters)},
                    {"runnable", r.config.has_value()},
                    {"tensor_types", types_json(r)}};
  if (r.config) {
    o["model"] = model_json(*r.config);
    o["memory"] = plan_json(r);
  } else {
    o["reason"] = to_valid_utf8(r.unsupported);
  }
  if (r.show_metadata) {
    json::object metadata;
    for (const auto& [key, value] : r.file->metadata()) metadata[to_valid_utf8(key)] = value_json(value);
    o["metadata"] = std::move(metadata);
  }
  if (r.show_tensors) o["tensors"] = tensors_json(*r.file);
  return json::serialize(o) + "\n";
}

}  // namespace toccata::cli
