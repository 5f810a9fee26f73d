// Reads the fields of a JSON object from outside: each with its range, null meaning "not given", the first fault kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "server/api_error.h"

namespace toccata::server {

// A request's body; it must be an object. Depth is limited to 64.
ApiResult<boost::json::object> parse_body(std::string_view text);

class JsonFields {
 public:
  explicit JsonFields(const boost::json::object& object, std::string prefix = "")
      : object_(object), prefix_(std::move(prefix)) {}

  // nullptr if absent or null.
  const boost::json::value* find(std::string_view name) const;
  std::optional<int64_t> integer(std::string_view name, int64_t low, int64_t high);
  std::optional<double> number(std::string_view name, double low, double high);
  std::optional<bool> boolean(std::string_view name);
  std::optional<std::string> text(std::string_view name);
  const boost::json::array* array(std::string_view name);
  const boost::json::object* object(std::string_view name);

  // Keeps the first one.
  void fault(ApiError error);
  void wrong(std::string_view name, const std::string& expected);
  bool ok() const { return !error_.has_value(); }
  const ApiError& error() const { return *error_; }
  std::string path(std::string_view name) const;  // with the prefix

 private:
  const boost::json::object& object_;
  std::string prefix_;
  std::optional<ApiError> error_;
};

// An integer, also one written as 5.0; nullopt for anything else or beyond 64 bits.
std::optional<int64_t> json_integer(const boost::json::value& value);

}  // namespace toccata::server
