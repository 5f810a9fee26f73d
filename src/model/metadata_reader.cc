#include "model/metadata_reader.h"

#include <cstdio>

namespace toccata::model {

void MetadataReader::keep(const Error& error) {
  if (!error_) error_ = error;
}

void MetadataReader::record(ErrorCode code, std::string_view key, const std::string& what) {
  keep({code, file_.shards().front()->path() + ": metadata key '" + full(key) + "': " + what});
}

int64_t MetadataReader::in_range(std::string_view key, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return value;
  invalid(key,
          "the value " + std::to_string(value) + " is outside " + std::to_string(low) + " to " + std::to_string(high));
  return low;
}

int64_t MetadataReader::integer(std::string_view key, int64_t low, int64_t high, std::optional<int64_t> absent) {
  const auto value = file_.get_int(full(key));
  if (!value) {
    keep(value.error());
    return low;
  }
  if (*value) return in_range(key, **value, low, high);
  if (!absent) invalid(key, "the key is missing");
  return absent.value_or(low);
}

double MetadataReader::number(std::string_view key, double low, double high, std::optional<double> absent) {
  const auto value = file_.get_float(full(key));
  if (!value) {
    keep(value.error());
    return low;
  }
  if (!*value) {
    if (!absent) invalid(key, "the key is missing");
    return absent.value_or(low);
  }
  if (**value >= low && **value <= high) return **value;
  char range[128];
  std::snprintf(range, sizeof(range), "the value %g is outside %g to %g", **value, low, high);
  invalid(key, range);
  return low;
}

bool MetadataReader::boolean(std::string_view key, bool absent) {
  const auto value = file_.get_bool(full(key));
  if (!value) keep(value.error());
  return value ? value->value_or(absent) : absent;
}

std::string MetadataReader::text(std::string_view key, std::string_view absent) {
  const auto value = file_.get_string(full(key));
  if (!value) keep(value.error());
  return std::string(value ? value->value_or(absent) : absent);
}

const gguf::Array* MetadataReader::array(std::string_view key) const {
  const gguf::Value* found = file_.find(full(key));
  return found == nullptr ? nullptr : std::get_if<gguf::Array>(&found->data);
}

int64_t MetadataReader::per_layer(std::string_view key, int layers, int64_t low, int64_t high,
                                  std::optional<int64_t> absent) {
  const gguf::Array* values = array(key);
  if (values == nullptr) return integer(key, low, high, absent);
  if (values->count != static_cast<uint64_t>(layers)) {
    invalid(key,
            "the array has " + std::to_string(values->count) + " elements for " + std::to_string(layers) + " layers");
    return low;
  }
  const auto first = values->int_at(0);
  if (!first) {
    invalid(key, "the array's elements are not integers");
    return low;
  }
  for (uint64_t i = 1; i < values->count; ++i) {
    if (values->int_at(i) != first) {
      refuse(key, "values that differ between layers are not supported");
      return low;
    }
  }
  return in_range(key, *first, low, high);
}

}  // namespace toccata::model
