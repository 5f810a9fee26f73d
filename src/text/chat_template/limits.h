// Bounds that make an untrusted template end. They are far above what a real conversation needs; CPython's own
// limits (recursion depth 1000, 100 indentation levels, 200 parentheses) are hit by jinja2 at about the same depths.
#pragma once

#include <cstddef>
#include <cstdint>

namespace toccata::jinja {

struct Limits {
  uint64_t steps = 20'000'000;       // evaluated nodes, loop turns and compared or copied kilobytes, about 1 s
  size_t output_bytes = 64u << 20;   // text written, captured blocks counted again
  size_t memory_bytes = 256u << 20;  // live strings plus all other objects of one rendering
  size_t stack_bytes = 1u << 20;     // C++ stack used by nested macros, expressions and data
  int call_depth = 200;              // nested macro and loop() calls
};

inline constexpr size_t kMaxTemplateBytes = 256u << 10;  // published templates stay below 32 KiB
inline constexpr size_t kMaxVariables = 512;             // of one function of the template
inline constexpr int kMaxExpressionDepth = 250;          // nested operators, parentheses and subscripts in the source
inline constexpr int kMaxBlockDepth = 100;               // nested statements in the source
inline constexpr int kMaxDataDepth = 200;                // nested lists and dicts in the context, in repr() and in ==
inline constexpr long kMaxRange = 100'000;               // MAX_RANGE of jinja2's sandbox

}  // namespace toccata::jinja
