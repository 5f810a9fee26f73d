// Batch mode: a JSON object on each line of stdin, an answer on the same line of stdout.
#pragma once

#include <functional>
#include <string>

#include <boost/json/object.hpp>

#include "toccata/result.h"

namespace toccata::cli {

// Calls answer(object, "stdin, line N") for each line that is not blank and writes what it returns, with a newline, at
// once, so that a program on the other side of the pipe can wait for each answer. Stops at the first error, which
// names the line: not JSON, not an object, more than 256 MiB, or the answer's own; also at an interrupt.
Status for_each_json_line(
    const std::function<Result<std::string>(const boost::json::object&, const std::string& where)>& answer);

}  // namespace toccata::cli
