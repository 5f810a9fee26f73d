// The messages and tools of a chat request, checked and brought into the form that templates read.
#pragma once

#include <boost/json/array.hpp>

#include "server/json_fields.h"

namespace toccata::server {

// content becomes text (the parts of an array are joined with a newline); an assistant's null content beside tool calls
// becomes ""; arguments of tool calls become objects; null members are dropped. Unless knows_developer, the role
// developer becomes system. Faults name messages[i].
boost::json::array read_messages(JsonFields& fields, bool knows_developer);

// Functions only; members that are null are dropped.
boost::json::array read_tools(JsonFields& fields);

}  // namespace toccata::server
