#include "base/memory_info.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

namespace toccata {

uint64_t available_memory() {
  uint64_t bytes = 0;
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);) {
    unsigned long long kib = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %llu kB", &kib) == 1) bytes = uint64_t{kib} * 1024;
  }
  uint64_t limit = 0, used = 0;
  std::ifstream max("/sys/fs/cgroup/memory.max"), current("/sys/fs/cgroup/memory.current");
  if (max >> limit && current >> used) bytes = std::min(bytes, limit > used ? limit - used : 0);
  return bytes;
}

}  // namespace toccata
