// What `toccata inspect` shows of a file, as text or as JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "format/gguf/gguf.h"
#include "model/config.h"
#include "toccata/result.h"

namespace toccata::cli {

struct TypeTotal {
  DType type = DType::kF32;
  int64_t tensors = 0;
  uint64_t bytes = 0;
};

// Memory of one sequence of `context` tokens. Doubles, because a hostile file can make the product exceed 64 bits.
struct MemoryRow {
  int64_t context = 0;
  double kv_f16 = 0, kv_f32 = 0;  // bytes, in whole blocks of the cache
};

struct InspectReport {
  std::string path;
  std::shared_ptr<const gguf::File> file;
  std::optional<model::ModelConfig> config;  // absent: toccata cannot run the model
  std::string unsupported;                   // why, when config is absent
  uint64_t weight_bytes = 0;                 // of all tensors, as in the file
  double parameters = 0;
  std::vector<TypeTotal> types;                 // the type with most bytes first
  uint64_t kv_token_f16 = 0, kv_token_f32 = 0;  // bytes per token
  std::vector<MemoryRow> plan;
  bool show_metadata = false, show_tensors = false;
};

// contexts: empty for a choice of usual sizes up to the model's.
InspectReport make_report(const std::string& path, std::shared_ptr<const gguf::File> file,
                          const std::vector<int64_t>& contexts);

std::string report_text(const InspectReport& report);
std::string report_json(const InspectReport& report);

}  // namespace toccata::cli
