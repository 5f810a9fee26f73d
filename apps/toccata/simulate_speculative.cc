// `toccata simulate speculative`: a draft and what its target makes of it.
#include <cmath>
#include <cstdio>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "interrupt.h"
#include "json_reader.h"
#include "loaded_model.h"
#include "output.h"
#include "sim/speculative.h"
#include "simulate.h"
#include "text/tokenizer/utf8_runs.h"

namespace toccata::cli {
namespace json = boost::json;
namespace {

constexpr size_t kMostTokens = 64;

struct SpeculativeOptions {
  std::string tokens, probabilities, otherwise, file;
  std::vector<std::string> corrections;
  int64_t seed = 1;
  int64_t trials = 0;
  std::string acceptance, draft_cost = "0", verify_cost = "1";
  int64_t drafted = 5;
  bool json = false, real = false;
  RealOptions pair;
};

void declare(ArgParser& parser, SpeculativeOptions& o) {
  parser.group("The lesson");
  parser.text("--tokens", o.tokens, "A,B,...", "the draft; without it: the,quick,red,fox,leaps");
  parser.text("--probs", o.probabilities, "X,X,...", "the probability that the target keeps each token");
  parser.texts("--correction", o.corrections, "TOKEN=WORD", "what the target prefers to a token; may be repeated");
  parser.text("--otherwise", o.otherwise, "WORD", "what it prefers to the others; without it: jumps");
  parser.text("--file", o.file, "FILE", "all of that as JSON: tokens, probabilities, corrections, otherwise");
  parser.integer("-s,--seed", o.seed, 0, INT64_MAX, "random seed");
  parser.group("Many rounds");
  parser.integer("--trials", o.trials, 0, 100'000'000, "rounds, each behind the token that ended the one before");
  parser.text("--acceptance", o.acceptance, "A", "the probability of each token, instead of the lesson's");
  parser.integer("--draft-tokens", o.drafted, 1, static_cast<int64_t>(kMostTokens), "K, with --acceptance or --real");
  parser.text("--draft-cost", o.draft_cost, "C", "time of a drafted token; a plain step of the target takes 1");
  parser.text("--verify-cost", o.verify_cost, "V", "time of the step that verifies the K + 1 rows");
  parser.flag("--json", o.json, "one JSON object, with --trials");
  parser.group("Real models");
  parser.flag("--real", o.real, "the same lines for two models, with p and q of each token");
  add_model_path(parser, o.pair.model);
  parser.text("-md,--draft", o.pair.draft, "FILE", "the model that drafts, of the same vocabulary");
  parser.text("-p,--prompt", o.pair.prompt, "TEXT", "what the models continue");
  parser.integer("-n,--predict", o.pair.tokens, 1, 4096, "most tokens");
  parser.integer("-t,--threads", o.pair.model.threads, 0, 1024, "threads; 0: one per CPU");
  parser.number("--temp", o.pair.sampling.params.temperature, 0, 100, "temperature of both models");
  parser.footer(
      "A token is kept with probability min(1, p / q), else the target draws from what p has above q; what\n"
      "comes out has the target's distribution. The lesson's drafts are certain (q = 1).\n"
      "\n"
      "Examples:\n"
      "  toccata simulate speculative\n"
      "  toccata simulate speculative --tokens a,b --probs 0.9,0.2 --correction b=c --seed 7\n"
      "  toccata simulate speculative --trials 100000 --acceptance 0.8 --draft-tokens 4 --draft-cost 0.1\n"
      "  toccata simulate speculative --real -m target.gguf --draft small.gguf -p \"The capital of France\"");
}

Status wrong(const std::string& message) { return fail(ErrorCode::kInvalidArgument, message); }

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    words.push_back(to_valid_utf8(list.substr(at, comma - at)));
    at = comma + 1;
  }
  return words;
}

Status read_members(const json::object& o, const std::string& where, sim::Lesson& lesson) {
  const auto bad = [&](std::string_view key, const char* expected) {
    return fail(ErrorCode::kInvalidFile, where + ": field " + quoted(key) + " must be " + expected);
  };
  const auto tokens = json_array(o, "tokens", where);
  if (!tokens) return tl::unexpected(tokens.error());
  const auto probabilities = json_array(o, "probabilities", where);
  if (!probabilities) return tl::unexpected(probabilities.error());
  for (const json::value& v : **tokens) {
    if (!v.is_string()) return bad("tokens", "an array of strings");
    lesson.tokens.emplace_back(v.get_string());
  }
  for (const json::value& v : **probabilities) {
    if (!v.is_number()) return bad("probabilities", "an array of numbers");
    lesson.kept.push_back(v.to_number<double>());
  }
  if (const json::value* v = o.if_contains("corrections")) {
    if (!v->is_object()) return bad("corrections", "an object of strings");
    for (const auto& [token, word] : v->get_object()) {
      if (!word.is_string()) return bad("corrections", "an object of strings");
      lesson.corrections[std::string(token)] = std::string(word.get_string());
    }
  }
  if (const json::value* v = o.if_contains("otherwise")) {
    if (!v->is_string()) return bad("otherwise", "a string");
    lesson.otherwise = std::string(v->get_string());
  }
  return {};
}

Status read_lesson(const std::string& path, sim::Lesson& lesson) {
  const Result<std::string> text = read_text(path, size_t{1} << 20);
  if (!text) return tl::unexpected(text.error());
  const std::string where = "'" + path + "'";
  const Result<json::value> value = parse_json(*text, where);
  if (!value) return tl::unexpected(value.error());
  if (!value->is_object()) return fail(ErrorCode::kInvalidFile, where + " must be a JSON object");
  const std::string otherwise = std::move(lesson.otherwise);
  lesson = {};
  lesson.otherwise = otherwise;
  if (Status s = read_members(value->get_object(), where, lesson); !s) return s;
  const Status s = lesson.validate();
  return s ? s : fail(ErrorCode::kInvalidFile, where + ": " + s.error().message);
}

Status set_probabilities(const SpeculativeOptions& o, sim::Lesson& lesson) {
  if (!o.probabilities.empty()) {
    Result<std::vector<double>> p = numbers_within(o.probabilities, 0, 1);
    if (!p) return wrong("--probs " + p.error().message);
    lesson.kept = std::move(*p);
  }
  if (o.acceptance.empty()) return {};
  const Result<std::vector<double>> a = numbers_within(o.acceptance, 0, 1);
  if (!a || a->size() != 1) return wrong("--acceptance must be a number from 0 to 1, not " + quoted(o.acceptance));
  lesson.tokens.assign(static_cast<size_t>(o.drafted), "token");
  lesson.kept.assign(static_cast<size_t>(o.drafted), a->front());
  return {};
}

// What flags say of the lesson. Faults are wrong usage.
Status set_lesson(const SpeculativeOptions& o, sim::Lesson& lesson) {
  if (!o.tokens.empty()) lesson.tokens = words_of(o.tokens);
  if (!o.otherwise.empty()) lesson.otherwise = to_valid_utf8(o.otherwise);
  if (Status s = set_probabilities(o, lesson); !s) return s;
  for (const std::string& text : o.corrections) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) return wrong("--correction must be TOKEN=WORD, not " + quoted(text));
    lesson.corrections[to_valid_utf8(text.substr(0, equals))] = to_valid_utf8(text.substr(equals + 1));
  }
  if (lesson.tokens.size() > kMostTokens) {
    return wrong("a draft has at most " + std::to_string(kMostTokens) + " tokens here, not " +
                 std::to_string(lesson.tokens.size()));
  }
  return lesson.validate();
}

struct Costs {
  double draft = 0, verify = 1;
};

Result<Costs> costs_of(const SpeculativeOptions& o) {
  const Result<std::vector<double>> c = numbers_within(o.draft_cost, 0, 1e6),
                                    v = numbers_within(o.verify_cost, 1e-6, 1e6);
  if (!c || c->size() != 1) return fail(ErrorCode::kInvalidArgument, "--draft-cost must be a number from 0 to 1000000");
  if (!v || v->size() != 1) {
    return fail(ErrorCode::kInvalidArgument, "--verify-cost must be a number from 0.000001 to 1000000");
  }
  return Costs{c->front(), v->front()};
}

std::string line(const char* pattern, auto... values) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

std::string story(const sim::Rounds& r, size_t drafted) {
  std::string text;
  size_t position = 0, round = 0;
  for (const size_t kept : r.first) {
    text += line("round %zu: drafts tokens %zu to %zu, keeps %zu, ", ++round, position, position + drafted - 1, kept);
    position += kept + 1;
    text += kept < drafted ? line("corrects token %zu; drafting restarts behind it\n", position - 1)
                           : line("and gets token %zu from the target on top\n", position - 1);
  }
  return text + (r.rounds > std::ssize(r.first) ? "...\n\n" : "\n");
}

std::string text_of(const sim::Rounds& r, std::span<const double> a, const Costs& costs) {
  std::string text = story(r, a.size());
  const double n = static_cast<double>(r.rounds);
  text += line("%-10s %12s %10s %10s %24s\n", "kept", "rounds", "share", "exact", "bounds for 99.9 %");
  for (size_t k = 0; k <= a.size(); ++k) {
    const double p = sim::exactly(a, k), slack = 3.2905 * std::sqrt(p * (1 - p) / n);
    text += line("%-10zu %12lld %10.5f %10.5f %12.5f to %.5f\n", k, static_cast<long long>(r.counts[k]),
                 static_cast<double>(r.counts[k]) / n, p, std::max(0.0, p - slack), std::min(1.0, p + slack));
  }
  const double formula = sim::expected_tokens(a), measured = r.tokens_per_round();
  text += line("\ntokens per step  %.4f, by the formula %.4f (%+.2f %%)\n", measured, formula,
               100 * (measured / formula - 1));
  text += line("speed-up         %.3f, by the formula %.3f (E / (K c + v), K = %zu, c = %g, v = %g)\n",
               sim::speed_up(measured, a.size(), costs.draft, costs.verify),
               sim::speed_up(formula, a.size(), costs.draft, costs.verify), a.size(), costs.draft, costs.verify);
  return text;
}

std::string json_of(const sim::Rounds& r, std::span<const double> a, const Costs& costs) {
  json::array counts, exact;
  for (size_t k = 0; k <= a.size(); ++k) {
    counts.push_back(r.counts[k]);
    exact.push_back(sim::exactly(a, k));
  }
  const double formula = sim::expected_tokens(a), measured = r.tokens_per_round();
  return json::serialize(
             json::object{{"rounds", r.rounds},
                          {"probabilities", json::array(a.begin(), a.end())},
                          {"kept_counts", std::move(counts)},
                          {"kept_probabilities", std::move(exact)},
                          {"tokens", r.tokens},
                          {"tokens_per_step", measured},
                          {"tokens_per_step_formula", formula},
                          {"draft_cost", costs.draft},
                          {"verify_cost", costs.verify},
                          {"speed_up", sim::speed_up(measured, a.size(), costs.draft, costs.verify)},
                          {"speed_up_formula", sim::speed_up(formula, a.size(), costs.draft, costs.verify)}}) +
         "\n";
}

// Options that would be without effect. Empty: none.
std::string idle_option(const ArgParser& parser, const SpeculativeOptions& o) {
  const auto first = [&](std::initializer_list<const char*> names) -> std::string {
    for (const char* name : names) {
      if (parser.given(name)) return name;
    }
    return "";
  };
  if (o.real) {
    const std::string name = first({"--tokens", "--probs", "--correction", "--otherwise", "--file", "--trials",
                                    "--acceptance", "--draft-cost", "--verify-cost", "--json"});
    return name.empty() ? "" : name + " does not go with --real";
  }
  std::string name = first({"--model", "--draft", "--prompt", "--predict", "--threads", "--temp"});
  if (!name.empty()) return name + " needs --real";
  if (o.trials == 0) name = first({"--acceptance", "--draft-cost", "--verify-cost", "--json"});
  if (!name.empty()) return name + " needs --trials";
  if (o.acceptance.empty()) name = first({"--draft-tokens"});
  if (!name.empty()) return name + " needs --acceptance or --real";
  name = first({"--tokens", "--probs", "--correction", "--otherwise", "--file"});
  if (!o.acceptance.empty() && !name.empty()) return name + " does not go with --acceptance";
  name = first({"--tokens", "--probs"});
  if (!o.file.empty() && !name.empty()) return name + " does not go with --file";
  return "";
}

int real_main(const ArgParser& parser, SpeculativeOptions& o) {
  if (o.pair.model.path.empty()) return parser.usage_error("no model given: use -m FILE");
  if (o.pair.draft.empty()) return parser.usage_error("no model that drafts: use --draft FILE");
  if (o.pair.prompt.empty()) return parser.usage_error("no prompt given: use -p TEXT");
  o.pair.sampling.seed = o.seed;
  o.pair.drafted = o.drafted;
  install_signal_handlers();
  const Status s = simulate_real(o.pair);
  if (interrupted()) return 130;
  return s ? 0 : report("simulate speculative", s.error());
}

}  // namespace

int simulate_speculative_main(int argc, char** argv) {
  SpeculativeOptions o;
  ArgParser parser("toccata simulate speculative", "Replays speculative decoding: drafted tokens, kept or corrected.");
  declare(parser, o);
  if (const std::optional<int> code = parser.parse(argc, argv)) return *code;
  if (const std::string idle = idle_option(parser, o); !idle.empty()) return parser.usage_error(idle);
  if (o.real) return real_main(parser, o);
  sim::Lesson lesson = sim::classic_lesson();
  if (!o.file.empty()) {
    if (const Status s = read_lesson(o.file, lesson); !s) return report("simulate speculative", s.error());
  }
  if (const Status s = set_lesson(o, lesson); !s) return parser.usage_error(s.error().message);
  const Result<Costs> costs = costs_of(o);
  if (!costs) return parser.usage_error(costs.error().message);
  const auto seed = static_cast<uint64_t>(o.seed);
  std::string text;
  if (o.trials == 0) {
    text = sim::lesson_text(lesson, sim::kept_of(lesson.kept, seed, 0));
  } else {
    const sim::Rounds rounds = sim::run_rounds(lesson.kept, seed, o.trials);
    text = (o.json ? json_of : text_of)(rounds, lesson.kept, *costs);
  }
  const Status s = write_stdout(text);
  return s ? 0 : report("simulate speculative", s.error());
}

}  // namespace toccata::cli
