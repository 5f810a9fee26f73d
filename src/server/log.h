// Lines on stderr, each with the time, whole even when several threads write.
#pragma once

namespace toccata::server {

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void log_line(const char* format, ...);

}  // namespace toccata::server
