#include "json_reader.h"

#include <algorithm>
#include <cmath>

#include <boost/json/stream_parser.hpp>

#include "arg_parser.h"

namespace toccata::cli {
namespace json = boost::json;

namespace {

// 1e999 is read as infinity, for which JSON has no notation.
bool all_finite(const json::value& value) {
  if (const double* number = value.if_double()) return std::isfinite(*number);
  if (const json::array* array = value.if_array()) return std::all_of(array->begin(), array->end(), all_finite);
  if (const json::object* object = value.if_object()) {
    return std::all_of(object->begin(), object->end(), [](const auto& member) { return all_finite(member.value()); });
  }
  return true;
}

}  // namespace

Result<json::value> parse_json(std::string_view text, const std::string& where) {
  try {
    json::parse_options options;
    options.max_depth = 64;
    json::stream_parser parser({}, options);
    boost::system::error_code error;
    size_t used = parser.write_some(text.data(), text.size(), error);
    while (!error && used < text.size() && std::string_view(" \t\r\n").find(text[used]) != std::string_view::npos)
      ++used;
    if (!error && used < text.size()) error = json::error::extra_data;
    if (!error) parser.finish(error);
    if (!error) {
      json::value value = parser.release();
      if (all_finite(value)) return value;
      return fail(ErrorCode::kInvalidFile, where + " has a number beyond the range of doubles");
    }
    return fail(ErrorCode::kInvalidFile,
                where + " is not valid JSON: " + error.message() + " at byte " + std::to_string(used));
  } catch (const std::exception& e) {  // out of memory
    return fail(ErrorCode::kResourceExhausted, where + " cannot be read: " + e.what());
  }
}

Result<const json::value*> json_field(const json::object& o, std::string_view key, const std::string& where) {
  const json::value* v = o.if_contains(key);
  if (v != nullptr) return v;
  return fail(ErrorCode::kInvalidFile, where + " has no field " + quoted(key));
}

namespace {

tl::unexpected<Error> wrong_type(std::string_view key, const char* expected, const std::string& where) {
  return fail(ErrorCode::kInvalidFile, where + ": field " + quoted(key) + " must be " + expected);
}

}  // namespace

Result<std::string> json_string(const json::object& o, std::string_view key, const std::string& where) {
  const Result<const json::value*> v = json_field(o, key, where);
  if (!v) return tl::unexpected(v.error());
  const json::string* s = (*v)->if_string();
  if (s == nullptr) return wrong_type(key, "a string", where);
  return std::string(s->data(), s->size());
}

Result<const json::array*> json_array(const json::object& o, std::string_view key, const std::string& where) {
  const Result<const json::value*> v = json_field(o, key, where);
  if (!v) return tl::unexpected(v.error());
  const json::array* a = (*v)->if_array();
  if (a == nullptr) return wrong_type(key, "an array", where);
  return a;
}

Result<int64_t> json_integer(const json::object& o, std::string_view key, int64_t low, int64_t high,
                             const std::string& where) {
  const Result<const json::value*> v = json_field(o, key, where);
  if (!v) return tl::unexpected(v.error());
  const int64_t* n = (*v)->if_int64();
  if (n != nullptr && *n >= low && *n <= high) return *n;
  const std::string expected = "an integer from " + std::to_string(low) + " to " + std::to_string(high);
  return wrong_type(key, expected.c_str(), where);
}

Result<std::vector<int32_t>> json_tokens(const json::object& o, std::string_view key, const std::string& where) {
  const Result<const json::array*> a = json_array(o, key, where);
  if (!a) return tl::unexpected(a.error());
  std::vector<int32_t> ids;
  ids.reserve((*a)->size());
  for (const json::value& v : **a) {
    const int64_t* n = v.if_int64();
    if (n == nullptr || *n < 0 || *n > INT32_MAX) return wrong_type(key, "an array of token ids", where);
    ids.push_back(static_cast<int32_t>(*n));
  }
  return ids;
}

json::value json_number(double x) { return std::isfinite(x) ? json::value(x) : json::value(nullptr); }

}  // namespace toccata::cli
