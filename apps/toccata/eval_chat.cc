// The kind chat: the templates are in the reference file, no model is needed.
#include <map>
#include <memory>

#include <boost/json.hpp>

#include "eval_cases.h"
#include "json_reader.h"
#include "text/chat_template/chat.h"
#include "text/tokenizer/utf8_runs.h"

namespace toccata::cli {
namespace json = boost::json;
namespace {

struct Named {
  std::string source;
  std::optional<std::string> bos, eos;
};

std::optional<std::string> optional_string(const json::object& o, std::string_view key) {
  const json::value* v = o.if_contains(key);
  if (!v || !v->is_string()) return std::nullopt;
  return std::string(v->as_string());
}

bool flag(const json::object& o, std::string_view key) {
  const json::value* v = o.if_contains(key);
  return v && v->is_bool() && v->as_bool();
}

Result<std::map<std::string, Named>> read_templates(const Reference& reference) {
  const Result<const json::value*> all = json_field(reference.content, "templates", reference.path);
  if (!all) return tl::unexpected(all.error());
  if (!(*all)->is_object()) return fail(ErrorCode::kInvalidFile, reference.path + ": 'templates' is not an object");
  std::map<std::string, Named> out;
  for (const auto& [name, v] : (*all)->as_object()) {
    const std::string where = "template '" + std::string(name) + "'";
    if (!v.is_object()) return fail(ErrorCode::kInvalidFile, where + " is not an object");
    const Result<std::string> source = json_string(v.as_object(), "template", where);
    if (!source) return tl::unexpected(source.error());
    out[std::string(name)] = {*source, optional_string(v.as_object(), "bos"), optional_string(v.as_object(), "eos")};
  }
  return out;
}

Result<std::string> render_case(const json::object& c, const Named& named) {
  const Result<ChatTemplate> chat = ChatTemplate::parse(named.source);
  if (!chat) return tl::unexpected(chat.error());
  ChatInput input;
  input.messages = &c.at("messages").as_array();
  const json::value* tools = c.if_contains("tools");
  if (tools && tools->is_array()) input.tools = &tools->as_array();
  input.bos_token = named.bos;
  input.eos_token = named.eos;
  input.add_generation_prompt = flag(c, "add_generation_prompt");
  input.continue_final_message = flag(c, "continue_final_message");
  return render_chat(*chat, input);
}

}  // namespace

Status eval_chat(const Reference& reference, const Emit& emit) {
  const Result<std::map<std::string, Named>> templates = read_templates(reference);
  if (!templates) return tl::unexpected(templates.error());
  for (const json::value& v : reference.cases()) {
    const json::object& c = v.as_object();
    const Result<std::string> name = json_string(c, "template", case_name(c));
    if (!name) return tl::unexpected(name.error());
    const Result<const json::array*> messages = json_array(c, "messages", case_name(c));
    if (!messages) return tl::unexpected(messages.error());
    const auto at = templates->find(*name);
    if (at == templates->end()) {
      return fail(ErrorCode::kInvalidFile, case_name(c) + " names an unknown template '" + *name + "'");
    }
    const Result<std::string> text = render_case(c, at->second);
    json::object line{{"id", c.at("id")}};
    if (text)
      line["text"] = to_valid_utf8(*text);
    else
      line["error"] = to_valid_utf8(text.error().message);
    if (Status s = emit(std::move(line)); !s) return s;
  }
  return {};
}

}  // namespace toccata::cli
