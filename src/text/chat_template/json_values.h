// Between JSON and template values.
#pragma once

#include <string>

#include <boost/json/fwd.hpp>

#include "text/chat_template/builtins.h"

namespace toccata::jinja {

// The Python value that json.loads would give. Faults when it is nested too deeply or a string is not UTF-8.
Value from_json(Heap& heap, const boost::json::value& json);

// The tojson filter of transformers: json.dumps(value, ensure_ascii=False, indent=None, separators=None,
// sort_keys=False), which unlike jinja2's own filter keeps <, >, & and '.
Value filter_tojson(Interpreter& in, const Value& value, Args& args);

}  // namespace toccata::jinja
