// How much memory the machine has left for this process.
#pragma once

#include <cstdint>

namespace toccata {

// MemAvailable of the system, or what the control group leaves if that is less. 0: unknown.
uint64_t available_memory();

}  // namespace toccata
