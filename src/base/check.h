// TOCCATA_CHECK(condition): aborts with file and line when our own code broke an invariant.
#pragma once

namespace toccata {

[[noreturn]] void check_failed(const char* file, int line, const char* condition);

}  // namespace toccata

#define TOCCATA_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::toccata::check_failed(__FILE__, __LINE__, #condition))
