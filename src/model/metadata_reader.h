// Range-checked look-ups of an architecture's metadata keys ("llama.block_count" is asked for as "block_count").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "format/gguf/gguf.h"
#include "toccata/result.h"

namespace toccata::model {

// The first fault is kept and every later call returns a harmless value (the lower bound or the default), so that a
// caller may read several keys and then ask once whether all of them were good.
class MetadataReader {
 public:
  MetadataReader(const gguf::File& file, std::string architecture)
      : file_(file), architecture_(std::move(architecture)) {}

  bool failed() const { return error_.has_value(); }
  const Error& error() const { return *error_; }
  bool has(std::string_view key) const { return file_.find(full(key)) != nullptr; }

  // A key without a default must be present. Values outside [low, high] (NaN included) are faults.
  int64_t integer(std::string_view key, int64_t low, int64_t high, std::optional<int64_t> absent = {});
  double number(std::string_view key, double low, double high, std::optional<double> absent = {});
  bool boolean(std::string_view key, bool absent);
  std::string text(std::string_view key, std::string_view absent);
  // Null when the key is absent or no array.
  const gguf::Array* array(std::string_view key) const;
  // One integer, or an array with one for each layer, which must be equal.
  int64_t per_layer(std::string_view key, int layers, int64_t low, int64_t high, std::optional<int64_t> absent = {});

  // Records a fault of `key`: a damaged value, or one that toccata does not support.
  void invalid(std::string_view key, const std::string& what) { record(ErrorCode::kInvalidFile, key, what); }
  void refuse(std::string_view key, const std::string& what) { record(ErrorCode::kUnsupported, key, what); }

 private:
  std::string full(std::string_view key) const { return architecture_ + "." + std::string(key); }
  void record(ErrorCode code, std::string_view key, const std::string& what);
  void keep(const Error& error);
  int64_t in_range(std::string_view key, int64_t value, int64_t low, int64_t high);

  const gguf::File& file_;
  std::string architecture_;
  std::optional<Error> error_;
};

}  // namespace toccata::model
