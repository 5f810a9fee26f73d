#include "eval_cases.h"

#include <algorithm>
#include <array>
#include <set>

#include "json_reader.h"
#include "output.h"

namespace toccata::cli {
namespace json = boost::json;

std::string case_name(const json::object& c) {
  const json::string& id = c.at("id").as_string();
  return "case " + quoted(std::string_view(id.data(), id.size()));
}

Result<Reference> read_reference(const std::string& path) {
  Result<std::string> text = read_text(path, size_t{1} << 30);
  if (!text) return tl::unexpected(text.error());
  Result<json::value> parsed = parse_json(*text, quoted(path));
  if (!parsed) return tl::unexpected(parsed.error());
  if (!parsed->is_object()) return fail(ErrorCode::kInvalidFile, quoted(path) + " is not a JSON object");
  Reference r;
  r.path = path;
  r.content = std::move(parsed->as_object());
  Result<std::string> kind = json_string(r.content, "kind", quoted(path));
  if (!kind) return tl::unexpected(kind.error());
  r.kind = std::move(*kind);
  constexpr std::array kKinds = {"tok", "piece", "chat", "logits", "greedy", "ppl", "kv"};
  if (std::find(kKinds.begin(), kKinds.end(), r.kind) == kKinds.end()) {
    return fail(ErrorCode::kUnsupported, quoted(path) + ": kind " + quoted(r.kind) +
                                             " is not offered (tok, piece, chat, logits, greedy, ppl and kv are)");
  }
  const Result<const json::array*> cases = json_array(r.content, "cases", quoted(path));
  if (!cases) return tl::unexpected(cases.error());
  std::set<std::string> seen;
  for (size_t i = 0; i < (*cases)->size(); ++i) {
    const std::string where = quoted(path) + ", case " + std::to_string(i);
    const json::object* c = (**cases)[i].if_object();
    if (c == nullptr) return fail(ErrorCode::kInvalidFile, where + " is not an object");
    const Result<std::string> id = json_string(*c, "id", where);
    if (!id) return tl::unexpected(id.error());
    if (!seen.insert(*id).second) return fail(ErrorCode::kInvalidFile, where + ": id " + quoted(*id) + " occurs twice");
  }
  return r;
}

}  // namespace toccata::cli
