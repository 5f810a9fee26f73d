// Bounds on what a GGUF file may make the parser allocate, far above any real model. Counts are also checked against
// the bytes that remain in the file, but a sparse file has as many bytes as it likes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace toccata::gguf::limits {

inline constexpr uint64_t kKeys = 1 << 16;       // metadata keys of one file (real models: below 100)
inline constexpr uint64_t kTensors = 1 << 20;    // tensors of one file (real models: below 10,000)
inline constexpr uint64_t kStrings = 1 << 24;    // strings in the arrays of one file (real models: below 1,000,000)
inline constexpr uint64_t kArrays = 1 << 16;     // arrays inside arrays of one file
inline constexpr int kArrayDepth = 4;            // [[[[...]]]] is the deepest array accepted
inline constexpr size_t kKeyBytes = 65535;       // the specification's bound
inline constexpr size_t kTensorNameBytes = 64;   // the specification's bound
inline constexpr uint32_t kDims = 4;             // the specification's bound
inline constexpr uint64_t kAlignment = 1 << 20;  // real models: 32

// The smallest records: a string of one byte (9), a type (4) and a value (1); a string of one byte (9), the number of
// dimensions (4), one of them (8), type (4) and offset (8).
inline constexpr uint64_t kKeyRecordBytes = 9 + 4 + 1;
inline constexpr uint64_t kTensorRecordBytes = 9 + 4 + 8 + 4 + 8;

}  // namespace toccata::gguf::limits
