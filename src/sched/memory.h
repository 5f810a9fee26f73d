// The scheduler's view of the KV cache: counts alone. The engine backs it by blocks, tests and simulators by numbers.
#pragma once

#include <cstdint>

namespace toccata::sched {

using SequenceId = uint64_t;

class Memory {
 public:
  virtual ~Memory() = default;
  virtual int64_t block_tokens() const = 0;
  virtual int64_t available() const = 0;  // blocks that reserve() can still take
  // The sequence begins (again): takes what the prefix cache holds of its tokens. Returns how many tokens need not be
  // computed, at most all but the last.
  virtual int64_t attach(SequenceId id) = 0;
  // Blocks that reserve(id, tokens) would take.
  virtual int64_t needed(SequenceId id, int64_t tokens) const = 0;
  // Room to write all positions below `tokens` that are not computed yet. False: too few blocks; nothing changed.
  virtual bool reserve(SequenceId id, int64_t tokens) = 0;
  virtual void release(SequenceId id) = 0;  // gives back all that the sequence holds
};

}  // namespace toccata::sched
