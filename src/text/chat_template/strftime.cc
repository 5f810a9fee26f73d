#include "text/chat_template/strftime.h"

#include <chrono>
#include <string_view>

#include "text/chat_template/fault.h"

namespace toccata::jinja {

LocalTime local_time_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  const auto seconds = static_cast<std::time_t>(micros / 1'000'000);
  LocalTime out;
  localtime_r(&seconds, &out.tm);
  out.microsecond = static_cast<int>(micros % 1'000'000);
  return out;
}

std::string format_time(const std::string& format, const LocalTime& time) {
  constexpr std::string_view kConversions = "aAbBcCdDeFgGhHIjklmMnpPrRStTuUVwWxXyY%";
  if (format.find('\0') != std::string::npos) raise("embedded null character");
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    std::string directive = "%";
    while (++i < format.size() && std::string_view("-_0^").find(format[i]) != std::string_view::npos) {
      directive += format[i];
    }
    const char type = i < format.size() ? format[i] : '\0';
    if (directive == "%" && (type == 'z' || type == 'Z')) continue;
    if (directive == "%" && type == 'f') {
      const std::string digits = std::to_string(time.microsecond);
      out += std::string(6 - digits.size(), '0') + digits;
      continue;
    }
    if (type == '\0' || kConversions.find(type) == std::string_view::npos || directive.size() > 3) {
      refuse("the date format '" + directive + (type != '\0' ? std::string(1, type) : "") + "'");
    }
    directive += type;
    char buffer[128];
    out.append(buffer, std::strftime(buffer, sizeof buffer, directive.c_str(), &time.tm));
  }
  return out;
}

}  // namespace toccata::jinja
