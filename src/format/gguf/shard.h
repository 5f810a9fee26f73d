// One GGUF file, parsed from its bytes.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "format/gguf/cursor.h"
#include "format/gguf/gguf.h"
#include "toccata/result.h"

namespace toccata::gguf {

struct Shard {
  uint32_t version = 0;
  std::vector<std::pair<std::string, Value>> metadata;        // in file order
  std::map<std::string, size_t, std::less<>> metadata_index;  // key to its place in `metadata`
  std::vector<Tensor> tensors;                                // in file order; names may repeat (the caller checks)
};

// Parses `bytes`, which must outlive the result: strings, arrays and tensors point into it. `path` is for messages.
// Errors: kInvalidFile (damaged), kUnsupported (another format, version, byte order or tensor type).
Result<Shard> parse_shard(std::span<const std::byte> bytes, const std::string& path);

// The two halves of parse_shard, each of which leaves `in` behind what it read.
Status parse_metadata(Cursor& in, uint64_t count, const std::string& path, Shard& shard);
Status parse_tensors(Cursor& in, uint64_t count, std::span<const std::byte> bytes, const std::string& path,
                     Shard& shard);

}  // namespace toccata::gguf
