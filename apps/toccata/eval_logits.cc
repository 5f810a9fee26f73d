// The kinds logits, greedy and ppl.
#include <algorithm>

#include "eval_cases.h"
#include "feed.h"
#include "interrupt.h"
#include "json_reader.h"
#include "sampling/candidates.h"

namespace toccata::cli {
namespace json = boost::json;
namespace {

constexpr int64_t kGreedyTokens = 64;  // where a case does not say
constexpr size_t kTop = 64;            // highest logits per position: check_refs.py looks for the reference's 32
constexpr int64_t kLogitRows = 64;     // bounds the logits in memory: 64 rows of 262k tokens are 67 MB

struct Prompt {
  const json::object* reference = nullptr;
  std::vector<int32_t> ids;
  int64_t answer = 0;  // tokens to generate
};

Result<std::vector<Prompt>> read_prompts(const Reference& reference) {
  std::vector<Prompt> prompts;
  for (const json::value& v : reference.cases()) {
    Prompt p;
    p.reference = &v.as_object();
    const std::string where = case_name(*p.reference);
    Result<std::vector<int32_t>> ids = json_tokens(*p.reference, "ids", where);
    if (!ids) return tl::unexpected(ids.error());
    if (ids->empty()) return fail(ErrorCode::kInvalidFile, where + ": field 'ids' is empty");
    p.ids = std::move(*ids);
    if (reference.kind == "greedy") {
      p.answer = kGreedyTokens;
      if (const json::value* out = p.reference->if_contains("out"); out != nullptr && out->is_array()) {
        p.answer = static_cast<int64_t>(out->as_array().size());
      }
    }
    prompts.push_back(std::move(p));
  }
  return prompts;
}

// One line of `positions`: the top logits of a row and the next token's log-probability.
json::object describe(int64_t position, std::span<const float> row, double lse, const std::vector<int32_t>& ids) {
  std::vector<float> tops;
  std::vector<Candidate> best;
  best_of(look_at(row, tops), kTop, best);
  json::array top;
  for (const Candidate& c : best) top.push_back(json::array{c.token, json_number(static_cast<double>(c.logit))});
  json::object o = {{"pos", position}, {"top", std::move(top)}, {"lse", json_number(lse)}};
  const size_t next = static_cast<size_t>(position) + 1;
  if (next < ids.size()) {
    o["next_logprob"] = json_number(static_cast<double>(row[static_cast<size_t>(ids[next])]) - lse);
  }
  return o;
}

Result<std::vector<int64_t>> wanted_positions(const Prompt& p) {
  std::vector<int64_t> wanted;
  if (!p.reference->contains("positions")) return wanted;
  const std::string where = case_name(*p.reference);
  const Result<const json::array*> list = json_array(*p.reference, "positions", where);
  if (!list) return tl::unexpected(list.error());
  for (const json::value& v : **list) {
    if (!v.is_object()) return fail(ErrorCode::kInvalidFile, where + ": 'positions' must hold objects");
    const Result<int64_t> pos =
        json_integer(v.as_object(), "pos", 0, static_cast<int64_t>(p.ids.size()) - 1, where + ", position");
    if (!pos) return tl::unexpected(pos.error());
    wanted.push_back(*pos);
  }
  std::sort(wanted.begin(), wanted.end());
  return wanted;
}

Result<json::object> score(LoadedModel& m, const Prompt& p, int64_t chunk, bool with_positions) {
  Result<std::vector<int64_t>> wanted = std::vector<int64_t>();
  if (with_positions) wanted = wanted_positions(p);
  if (!wanted) return tl::unexpected(wanted.error());
  double nll = 0;
  json::array positions;
  const auto on_row = [&](int64_t position, std::span<const float> row) {
    const double lse = log_sum_exp(row);
    const size_t next = static_cast<size_t>(position) + 1;
    if (next < p.ids.size()) nll += lse - static_cast<double>(row[static_cast<size_t>(p.ids[next])]);
    if (std::binary_search(wanted->begin(), wanted->end(), position)) {
      positions.push_back(describe(position, row, lse, p.ids));
    }
  };
  Session session(*m.runner, *m.pool, m.plan);
  if (const Result<bool> whole = feed(session, p.ids, chunk, on_row); !whole) return tl::unexpected(whole.error());
  json::object line = {{"id", p.reference->at("id")}, {"nll", json_number(nll)}};
  if (with_positions) line["positions"] = std::move(positions);
  return line;
}

Result<json::object> continue_greedily(LoadedModel& m, const Prompt& p, int64_t chunk) {
  Session session(*m.runner, *m.pool, m.plan);
  if (const Result<bool> whole = feed(session, p.ids, chunk); !whole) return tl::unexpected(whole.error());
  json::array out;
  for (int64_t i = 0; i < p.answer && !interrupted(); ++i) {
    const int32_t token = argmax(session.logits());
    out.push_back(token);
    if (i + 1 == p.answer) break;
    if (Status s = session.append(std::span(&token, 1)); !s) return tl::unexpected(s.error());
  }
  return json::object{{"id", p.reference->at("id")}, {"out", std::move(out)}};
}

}  // namespace

Status eval_model(const Reference& reference, const ModelOptions& options, const Emit& emit) {
  const Result<std::vector<Prompt>> prompts = read_prompts(reference);
  if (!prompts) return tl::unexpected(prompts.error());
  LoadNeeds needs;
  needs.logit_rows = kLogitRows;
  needs.context = 1;
  for (const Prompt& p : *prompts)
    needs.context = std::max(needs.context, static_cast<int64_t>(p.ids.size()) + p.answer);
  Result<std::unique_ptr<LoadedModel>> m = load_model(options, needs);
  if (!m) return tl::unexpected(m.error());
  for (const Prompt& p : *prompts) {
    Result<json::object> line = reference.kind == "greedy" ? continue_greedily(**m, p, options.chunk)
                                                           : score(**m, p, options.chunk, reference.kind == "logits");
    if (!line) {
      return fail(line.error().code, case_name(*p.reference) + ": " + line.error().message);
    }
    if (Status s = emit(std::move(*line)); !s) return s;
  }
  return {};
}

}  // namespace toccata::cli
