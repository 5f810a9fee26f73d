#include "server/openai/chat_messages.h"

#include <algorithm>
#include <iterator>

#include <boost/json.hpp>

namespace toccata::server {
namespace json = boost::json;

namespace {

constexpr const char* kRoles[] = {"system", "developer", "user", "assistant", "tool", "function"};
constexpr size_t kMostMessages = 4096, kMostTools = 512;

json::object without_nulls(const json::object& o) {
  json::object out;
  for (const auto& [key, value] : o) {
    if (!value.is_null()) out[key] = value;
  }
  return out;
}

// nullopt: a fault. The text of a message's parts.
std::optional<std::string> join_parts(JsonFields& fields, const json::array& parts, const std::string& where) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string at = where + ".content[" + std::to_string(i) + "]";
    const json::object* part = parts[i].if_object();
    const json::value* type = part != nullptr ? part->if_contains("type") : nullptr;
    if (type == nullptr || !type->is_string()) {
      fields.fault(bad_param(at, at + " must be an object with a type"));
      return std::nullopt;
    }
    const json::string& name = type->get_string();
    const char* member = name == "refusal" ? "refusal" : "text";
    if (name != "text" && name != "refusal" && name != "input_text") {
      fields.fault(unsupported_param(
          at, at + ": parts of type '" + std::string(name.subview(0, 40)) + "' are not supported, only text"));
      return std::nullopt;
    }
    const json::value* text = part->if_contains(member);
    if (text == nullptr || !text->is_string()) {
      fields.fault(bad_param(at, at + "." + member + " must be a string"));
      return std::nullopt;
    }
    if (i > 0) out += '\n';
    out.append(text->get_string().data(), text->get_string().size());
  }
  return out;
}

std::optional<std::string> read_content(JsonFields& fields, const json::object& message, const std::string& where,
                                        bool may_be_absent) {
  const json::value* content = message.if_contains("content");
  if (content == nullptr || content->is_null()) {
    if (may_be_absent) return "";
    fields.fault(bad_param(where + ".content", where + ".content is missing"));
    return std::nullopt;
  }
  if (const json::string* s = content->if_string()) return std::string(s->data(), s->size());
  if (const json::array* parts = content->if_array()) return join_parts(fields, *parts, where);
  fields.fault(bad_param(where + ".content", where + ".content must be a string or an array of parts"));
  return std::nullopt;
}

// Arguments come as a JSON text; templates want the object.
bool read_tool_calls(JsonFields& fields, json::object& message, const std::string& where) {
  json::array* calls = message["tool_calls"].if_array();
  for (size_t i = 0; calls != nullptr && i < calls->size(); ++i) {
    json::object* call = (*calls)[i].if_object();
    json::value* function = call != nullptr ? call->if_contains("function") : nullptr;
    json::object* f = function != nullptr ? function->if_object() : nullptr;
    json::value* name = f != nullptr ? f->if_contains("name") : nullptr;
    if (name == nullptr || !name->is_string()) {
      calls = nullptr;
      break;
    }
    json::value* arguments = f->if_contains("arguments");
    if (arguments == nullptr || !arguments->is_string()) continue;
    const json::string& source = arguments->get_string();
    ApiResult<json::object> object = parse_body({source.data(), source.size()});
    if (object) *arguments = std::move(*object);
  }
  if (calls != nullptr) return true;
  fields.fault(bad_param(where + ".tool_calls", where + ".tool_calls must be an array of calls of named functions"));
  return false;
}

bool read_message(JsonFields& fields, const json::value& value, size_t index, bool knows_developer, json::array& out) {
  const std::string where = "messages[" + std::to_string(index) + "]";
  const json::object* o = value.if_object();
  const json::value* role = o != nullptr ? o->if_contains("role") : nullptr;
  if (role == nullptr || !role->is_string() ||
      std::none_of(std::begin(kRoles), std::end(kRoles), [&](const char* r) { return role->get_string() == r; })) {
    fields.fault(
        bad_param(where + ".role", where + ".role must be system, developer, user, assistant, tool or function"));
    return false;
  }
  json::object message = without_nulls(*o);
  const bool assistant = role->get_string() == "assistant";
  if (role->get_string() == "developer" && !knows_developer) message["role"] = "system";
  if (const json::value* calls = message.if_contains("tool_calls")) {
    if (!assistant || (calls->is_array() && calls->get_array().empty()))
      message.erase("tool_calls");
    else if (!read_tool_calls(fields, message, where))
      return false;
  }
  const std::optional<std::string> content =
      read_content(fields, *o, where, assistant && message.contains("tool_calls"));
  if (!content) return false;
  message["content"] = *content;
  out.push_back(std::move(message));
  return true;
}

}  // namespace

json::array read_messages(JsonFields& fields, bool knows_developer) {
  json::array out;
  const json::array* messages = fields.array("messages");
  if (messages == nullptr || messages->empty() || messages->size() > kMostMessages) {
    fields.wrong("messages", "an array of 1 to " + std::to_string(kMostMessages) + " messages");
    return out;
  }
  for (size_t i = 0; i < messages->size(); ++i) {
    if (!read_message(fields, (*messages)[i], i, knows_developer, out)) break;
  }
  return out;
}

json::array read_tools(JsonFields& fields) {
  json::array out;
  const json::array* tools = fields.array("tools");
  if (tools == nullptr) return out;
  if (tools->size() > kMostTools) fields.wrong("tools", "an array of at most " + std::to_string(kMostTools) + " tools");
  for (size_t i = 0; i < tools->size(); ++i) {
    const std::string where = "tools[" + std::to_string(i) + "]";
    const json::object* tool = (*tools)[i].if_object();
    const json::value* type = tool != nullptr ? tool->if_contains("type") : nullptr;
    const json::value* function = tool != nullptr ? tool->if_contains("function") : nullptr;
    const json::object* f = function != nullptr ? function->if_object() : nullptr;
    const json::value* name = f != nullptr ? f->if_contains("name") : nullptr;
    if (type == nullptr || *type != "function" || name == nullptr || !name->is_string() || name->get_string().empty()) {
      fields.fault(bad_param(where, where + " must be of type function, with a function that has a name"));
      return out;
    }
    out.push_back(json::object{{"type", "function"}, {"function", without_nulls(*f)}});
  }
  return out;
}

}  // namespace toccata::server
