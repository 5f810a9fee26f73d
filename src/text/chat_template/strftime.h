// datetime.now().strftime(format), with the clock given from outside.
#pragma once

#include <string>

#include "text/chat_template/chat_template.h"

namespace toccata::jinja {

using LocalTime = ChatTemplate::LocalTime;

LocalTime local_time_now();

// The conversions of C99's strftime in the C locale, glibc's flags -, _, 0 and ^, %k and %l, and Python's %f (%z and
// %Z are empty, as for a naive datetime). Others are refused by name.
std::string format_time(const std::string& format, const LocalTime& time);

}  // namespace toccata::jinja
