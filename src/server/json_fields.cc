#include "server/json_fields.h"

#include <cmath>
#include <cstdio>

#include <boost/json/parse_options.hpp>
#include <boost/json/stream_parser.hpp>

namespace toccata::server {
namespace json = boost::json;

namespace {

ApiError body_error(std::string message) {
  ApiError e;
  e.message = std::move(message);
  e.code = "invalid_json";
  return e;
}

std::string short_number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.10g", x);
  return text;
}

}  // namespace

ApiResult<json::object> parse_body(std::string_view text) {
  try {
    json::parse_options options;
    options.max_depth = 64;
    json::stream_parser parser({}, options);
    json::error_code error;
    size_t used = parser.write_some(text.data(), text.size(), error);
    while (!error && used < text.size() && std::string_view(" \t\r\n").find(text[used]) != std::string_view::npos)
      ++used;
    if (!error && used < text.size()) error = json::error::extra_data;
    if (!error) parser.finish(error);
    if (error) {
      return tl::unexpected(
          body_error("the body is not valid JSON: " + error.message() + " at byte " + std::to_string(used)));
    }
    json::value value = parser.release();
    if (!value.is_object()) return tl::unexpected(body_error("the body must be a JSON object"));
    return std::move(value.get_object());
  } catch (const std::exception& e) {
    return tl::unexpected(internal_error(std::string("the body cannot be read: ") + e.what()));
  }
}

std::optional<int64_t> json_integer(const json::value& value) {
  if (const int64_t* n = value.if_int64()) return *n;
  if (const double* d = value.if_double()) {
    if (std::fabs(*d) < 9.0e18 && std::trunc(*d) == *d) return static_cast<int64_t>(*d);
  }
  return std::nullopt;
}

const json::value* JsonFields::find(std::string_view name) const {
  const json::value* v = object_.if_contains(name);
  return v != nullptr && !v->is_null() ? v : nullptr;
}

std::string JsonFields::path(std::string_view name) const {
  return prefix_.empty() ? std::string(name) : prefix_ + "." + std::string(name);
}

void JsonFields::fault(ApiError error) {
  if (!error_) error_ = std::move(error);
}

void JsonFields::wrong(std::string_view name, const std::string& expected) {
  fault(bad_param(path(name), path(name) + " must be " + expected));
}

std::optional<int64_t> JsonFields::integer(std::string_view name, int64_t low, int64_t high) {
  const json::value* v = find(name);
  if (v == nullptr) return std::nullopt;
  const std::optional<int64_t> n = json_integer(*v);
  if (n && *n >= low && *n <= high) return n;
  wrong(name, "an integer from " + std::to_string(low) + " to " + std::to_string(high));
  return std::nullopt;
}

std::optional<double> JsonFields::number(std::string_view name, double low, double high) {
  const json::value* v = find(name);
  if (v == nullptr) return std::nullopt;
  if (v->is_number()) {
    const double d = v->to_number<double>();
    if (d >= low && d <= high) return d;
  }
  wrong(name, "a number from " + short_number(low) + " to " + short_number(high));
  return std::nullopt;
}

std::optional<bool> JsonFields::boolean(std::string_view name) {
  const json::value* v = find(name);
  if (v == nullptr) return std::nullopt;
  if (v->is_bool()) return v->get_bool();
  wrong(name, "true or false");
  return std::nullopt;
}

std::optional<std::string> JsonFields::text(std::string_view name) {
  const json::value* v = find(name);
  if (v == nullptr) return std::nullopt;
  if (const json::string* s = v->if_string()) return std::string(s->data(), s->size());
  wrong(name, "a string");
  return std::nullopt;
}

const json::array* JsonFields::array(std::string_view name) {
  const json::value* v = find(name);
  if (v == nullptr) return nullptr;
  if (!v->is_array()) wrong(name, "an array");
  return v->if_array();
}

const json::object* JsonFields::object(std::string_view name) {
  const json::value* v = find(name);
  if (v == nullptr) return nullptr;
  if (!v->is_object()) wrong(name, "an object");
  return v->if_object();
}

}  // namespace toccata::server
