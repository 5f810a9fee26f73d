#include "server/log.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <string>

namespace toccata::server {

void log_line(const char* format, ...) {
  char text[1024];
  std::timespec now{};
  std::timespec_get(&now, TIME_UTC);
  std::tm tm{};
  localtime_r(&now.tv_sec, &tm);
  size_t n = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
  n += static_cast<size_t>(
      std::snprintf(text + n, sizeof text - n, ".%03d toccata: ", static_cast<int>(now.tv_nsec / 1000000)));
  va_list arguments;
  va_start(arguments, format);
  const int m = std::vsnprintf(text + n, sizeof text - n, format, arguments);
  va_end(arguments);
  if (m > 0) n += static_cast<size_t>(m);
  if (n > sizeof text - 2) n = sizeof text - 2;
  for (size_t i = 0; i < n; ++i) {  // outside text must not forge lines
    if (static_cast<unsigned char>(text[i]) < 0x20 || text[i] == 0x7f) text[i] = '?';
  }
  text[n] = '\n';
  if (::write(STDERR_FILENO, text, n + 1) < 0) return;  // nobody reads: nothing can be done
}

}  // namespace toccata::server
