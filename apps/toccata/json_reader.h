// Typed look-ups in JSON from outside, with errors that name the field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "toccata/result.h"

namespace toccata::cli {

// Error: kInvalidFile, names `where` and the byte at which the text stops being JSON, or a number that is none.
Result<boost::json::value> parse_json(std::string_view text, const std::string& where);

// The parts of an object; `where` begins the message ("case 3"). Errors: kInvalidFile.
Result<const boost::json::value*> json_field(const boost::json::object& o, std::string_view key,
                                             const std::string& where);
Result<std::string> json_string(const boost::json::object& o, std::string_view key, const std::string& where);
Result<const boost::json::array*> json_array(const boost::json::object& o, std::string_view key,
                                             const std::string& where);
Result<int64_t> json_integer(const boost::json::object& o, std::string_view key, int64_t low, int64_t high,
                             const std::string& where);
Result<std::vector<int32_t>> json_tokens(const boost::json::object& o, std::string_view key, const std::string& where);

// null for a value that JSON cannot write.
boost::json::value json_number(double x);

}  // namespace toccata::cli
