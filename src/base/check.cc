#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace toccata {

void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "toccata: internal error: %s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace toccata
