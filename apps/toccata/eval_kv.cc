// The kind kv: a text through a cache of bounded size, its negative log-likelihoods token by token and the greedy
// continuation of its beginning.
#include <algorithm>

#include "eval_cases.h"
#include "feed.h"
#include "interrupt.h"
#include "json_reader.h"
#include "sampling/candidates.h"

namespace toccata::cli {
namespace json = boost::json;
namespace {

constexpr int64_t kLogitRows = 64;
constexpr int64_t kMost = int64_t{1} << 30;

struct Case {
  const json::object* reference = nullptr;
  std::vector<int32_t> ids;
  KvPolicy rule;
  int64_t prefix = 0, answer = 0;  // greedy: tokens of the text that are read, tokens to generate
};

// The case's field, or `otherwise` where it has none.
Result<int64_t> count(const json::object& o, std::string_view key, int64_t otherwise, const std::string& where) {
  return o.contains(key) ? json_integer(o, key, 0, kMost, where) : Result<int64_t>(otherwise);
}

// The references' names: "stream" is streaming, and a plain "window" is streaming without sinks.
Result<KvPolicy> rule_of(const json::object& o, int64_t interval, const std::string& where) {
  const Result<std::string> name = json_string(o, "policy", where);
  if (!name) return tl::unexpected(name.error());
  const Result<int64_t> budget = count(o, "budget", 0, where);
  if (!budget) return tl::unexpected(budget.error());
  const Result<int64_t> sinks = count(o, "sinks", 0, where);
  if (!sinks) return tl::unexpected(sinks.error());
  KvPolicy rule;
  rule.name = *name == "stream" || *name == "window" ? "streaming" : *name;
  rule.budget = *budget;
  rule.sinks = *sinks;
  rule.interval = interval;
  return rule;
}

Result<Case> read_case(const json::object& o, const Reference& reference, int64_t interval) {
  Case c;
  c.reference = &o;
  const std::string where = case_name(o);
  const Result<std::string> text = json_string(o, "text", where);
  if (!text) return tl::unexpected(text.error());
  const json::value* texts = reference.content.if_contains("texts");
  if (texts == nullptr || !texts->is_object()) {
    return fail(ErrorCode::kInvalidFile, quoted(reference.path) + ": field 'texts' must be an object");
  }
  Result<std::vector<int32_t>> ids = json_tokens(texts->as_object(), *text, where + ": text");
  if (!ids) return tl::unexpected(ids.error());
  if (ids->size() < 2) return fail(ErrorCode::kInvalidFile, where + ": its text has fewer than two tokens");
  c.ids = std::move(*ids);
  Result<KvPolicy> rule = rule_of(o, interval, where);
  if (!rule) return tl::unexpected(rule.error());
  c.rule = std::move(*rule);
  const Result<int64_t> prefix = count(o, "prefix", 0, where);
  if (!prefix) return tl::unexpected(prefix.error());
  c.prefix = std::min(*prefix, static_cast<int64_t>(c.ids.size()));
  if (const json::value* g = o.if_contains("greedy"); c.prefix > 0 && g != nullptr && g->is_array()) {
    c.answer = static_cast<int64_t>(g->as_array().size());
  }
  return c;
}

Result<json::object> evaluate(LoadedModel& m, const Case& c, int64_t chunk) {
  const Result<kv::CachePlan> plan = kv::make_plan(c.rule, model::kv_shape(m.runner->config()));
  if (!plan) return tl::unexpected(plan.error());
  json::array nll, greedy;
  const auto on_row = [&](int64_t position, std::span<const float> row) {
    const size_t next = static_cast<size_t>(position) + 1;
    if (next >= c.ids.size()) return;
    nll.push_back(json_number(log_sum_exp(row) - static_cast<double>(row[static_cast<size_t>(c.ids[next])])));
  };
  {
    Session session(*m.runner, *m.pool, *plan);
    if (const Result<bool> whole = feed(session, c.ids, chunk, on_row); !whole) return tl::unexpected(whole.error());
  }
  Session session(*m.runner, *m.pool, *plan);
  if (c.answer > 0) {
    const auto prefix = std::span(c.ids).first(static_cast<size_t>(c.prefix));
    if (const Result<bool> whole = feed(session, prefix, chunk); !whole) return tl::unexpected(whole.error());
  }
  for (int64_t i = 0; i < c.answer && !interrupted(); ++i) {
    const int32_t token = argmax(session.logits());
    greedy.push_back(token);
    if (Status s = session.append(std::span(&token, 1)); !s) return tl::unexpected(s.error());
  }
  return json::object{{"id", c.reference->at("id")}, {"nll", std::move(nll)}, {"greedy", std::move(greedy)}};
}

}  // namespace

Status eval_kv(const Reference& reference, const ModelOptions& options, const Emit& emit) {
  std::vector<Case> cases;
  LoadNeeds needs;
  needs.logit_rows = kLogitRows;
  needs.context = 1;
  for (const json::value& v : reference.cases()) {
    Result<Case> c = read_case(v.as_object(), reference, options.kv.interval);
    if (!c) return tl::unexpected(c.error());
    needs.context = std::max({needs.context, static_cast<int64_t>(c->ids.size()), c->prefix + c->answer});
    cases.push_back(std::move(*c));
  }
  Result<std::unique_ptr<LoadedModel>> m = load_model(options, needs);
  if (!m) return tl::unexpected(m.error());
  for (const Case& c : cases) {
    Result<json::object> line = evaluate(**m, c, options.chunk);
    if (!line) return fail(line.error().code, case_name(*c.reference) + ": " + line.error().message);
    if (Status s = emit(std::move(*line)); !s) return s;
  }
  return {};
}

}  // namespace toccata::cli
