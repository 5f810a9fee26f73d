#include "server/openai/common_fields.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <boost/json.hpp>

namespace toccata::server {
namespace json = boost::json;

namespace {

constexpr int64_t kMostTokens = INT32_MAX;

// Fields that would change the answer if they were honoured, and are not: saying so beats ignoring them.
constexpr const char* kRefused[] = {"guided_json",        "guided_regex",   "guided_choice", "guided_grammar",
                                    "structured_outputs", "grammar",        "json_schema",   "functions",
                                    "function_call",      "audio",          "prediction",    "web_search_options",
                                    "prompt_embeds",      "use_beam_search"};

void refuse_unsupported(JsonFields& fields) {
  for (const char* name : kRefused) {
    const json::value* v = fields.find(name);
    if (v == nullptr || (v->is_bool() && !v->get_bool())) continue;
    fields.fault(unsupported_param(name, std::string(name) + " is not supported"));
  }
  if (const json::object* format = fields.object("response_format")) {
    const json::value* type = format->if_contains("type");
    if (type == nullptr || !type->is_string() || type->get_string() != "text") {
      fields.fault(unsupported_param("response_format", "response_format: only the type text is supported"));
    }
  }
  if (fields.integer("best_of", 0, 1 << 20).value_or(1) > 1) {
    fields.fault(unsupported_param("best_of", "best_of is not supported; n gives several answers"));
  }
}

void read_bias(JsonFields& fields, int32_t vocab, SamplingParams& p) {
  const json::object* map = fields.object("logit_bias");
  if (map == nullptr) return;
  for (const auto& [key, value] : *map) {
    int64_t token = 0;
    const bool digits = !key.empty() && key.size() <= 10 &&
                        std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (digits) {
      for (const char c : key) token = token * 10 + (c - '0');
    }
    if (!digits || token >= vocab) {
      return fields.wrong("logit_bias", "an object whose keys are token ids from 0 to " + std::to_string(vocab - 1));
    }
    const double bias = value.is_number() ? value.to_number<double>() : NAN;
    if (!(std::fabs(bias) <= 100)) return fields.wrong("logit_bias", "an object of biases from -100 to 100");
    // OpenAI's -100 is a ban; as a finite bias a very likely token could survive it.
    p.logit_bias.emplace_back(static_cast<int32_t>(token), bias <= -100 ? -INFINITY : static_cast<float>(bias));
  }
}

void read_stop(JsonFields& fields, Request& shared) {
  constexpr size_t kMostStops = 4, kLongest = 4096;
  const json::value* v = fields.find("stop");
  if (v == nullptr) return;
  const auto take = [&](const json::value& item) {
    const json::string* s = item.if_string();
    if (s == nullptr || s->empty() || s->size() > kLongest) return false;
    shared.stop.emplace_back(s->data(), s->size());
    return true;
  };
  bool good = true;
  if (const json::array* list = v->if_array()) {
    good = list->size() <= kMostStops;
    for (const json::value& item : *list) good = good && take(item);
  } else {
    good = take(*v);
  }
  if (!good) fields.wrong("stop", "a string, or up to 4 strings, of 1 to 4096 bytes");
}

void read_sampling(JsonFields& fields, int32_t vocab, SamplingParams& p) {
  p.temperature = static_cast<float>(fields.number("temperature", 0, 2).value_or(1));
  // Numbers that a float cannot tell from zero, or whose inverse it cannot hold, are greedy.
  if (p.temperature < 1e-5f) p.temperature = 0;
  p.top_k = static_cast<int32_t>(std::min<int64_t>(fields.integer("top_k", -1, INT64_MAX).value_or(0), INT32_MAX));
  if (p.top_k < 1 || p.top_k >= vocab) p.top_k = 0;
  const double top_p = fields.number("top_p", 0, 1).value_or(1);
  p.top_p = static_cast<float>(top_p);
  if (p.top_p <= 0) {
    p.top_p = 1;
    p.top_k = 1;
  }
  p.min_p = static_cast<float>(fields.number("min_p", 0, 1).value_or(0));
  p.typical_p = static_cast<float>(fields.number("typical_p", 0, 1).value_or(1));
  if (p.typical_p <= 0) fields.wrong("typical_p", "a number above 0 and at most 1");
  p.presence_penalty = static_cast<float>(fields.number("presence_penalty", -2, 2).value_or(0));
  p.frequency_penalty = static_cast<float>(fields.number("frequency_penalty", -2, 2).value_or(0));
  p.repetition_penalty = static_cast<float>(fields.number("repetition_penalty", 0, 100).value_or(1));
  if (p.repetition_penalty <= 0) fields.wrong("repetition_penalty", "a number above 0 and at most 100");
  p.penalty_last_n = -1;
  read_bias(fields, vocab, p);
  if (const std::optional<int64_t> seed = fields.integer("seed", 0, INT64_MAX)) {
    p.seed = static_cast<uint64_t>(*seed);
  } else {
    std::random_device random;
    p.seed = static_cast<uint64_t>(random()) << 32 | random();
  }
}

// "off", the name of a method, or an object of both.
void read_speculative(JsonFields& fields, Request& shared) {
  const json::value* v = fields.find("speculative");
  if (v == nullptr) return;
  SpeculationParams p;
  const json::string* name = v->if_string();
  if (const json::object* object = v->if_object()) {
    JsonFields inner(*object, "speculative");
    const json::value* number = inner.find("num_tokens");
    if (number != nullptr && !(number->is_string() && number->get_string() == "auto")) {
      p.num_tokens =
          static_cast<int32_t>(inner.integer("num_tokens", 1, SpeculationParams::kMostTokens).value_or(p.num_tokens));
    }
    if (!inner.ok()) return fields.fault(inner.error());
    if (const json::value* verify = inner.find("verify")) {
      const json::string* rule = verify->if_string();
      const auto found = rule ? spec_verify(std::string_view(rule->data(), rule->size())) : std::nullopt;
      if (!found) return fields.wrong("speculative.verify", "\"coupled\" or \"rejection\"");
      p.verify = *found;
    }
    const json::value* method = inner.find("method");
    name = method == nullptr ? nullptr : method->if_string();
  }
  const std::optional<SpecMethod> method =
      name == nullptr ? std::nullopt : spec_method(std::string_view(name->data(), name->size()));
  if (!method) {
    return fields.wrong("speculative",
                        "\"off\", or an object with a method (off, ngram, suffix, model, auto) and num_tokens");
  }
  p.method = *method;
  shared.speculative = p;
}

// kv_policy and its numbers, each over the server's own; a policy of another name begins with that policy's defaults.
// Whether they fit together the engine says.
void read_kv_policy(JsonFields& fields, const KvPolicy& server, Request& shared) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const std::optional<std::string> name = fields.text("kv_policy");
  const auto budget = fields.integer("kv_budget", 1, kMost), sinks = fields.integer("kv_sinks", 0, kMost);
  const auto recent = fields.integer("kv_recent", 0, kMost), interval = fields.integer("kv_evict_interval", 1, 512);
  const auto ratio = fields.number("kv_heavy_ratio", 0, 1);
  if (!name && !budget && !sinks && !recent && !interval && !ratio) return;
  KvPolicy rule = server;
  if (name && *name != server.name) {
    rule = KvPolicy();
    rule.name = *name;
    rule.interval = server.interval;
  }
  if (!rule.evicts() && (budget || sinks || recent || interval || ratio)) {
    return fields.fault(
        bad_param("kv_policy",
                  "kv_budget, kv_sinks, kv_recent, kv_heavy_ratio and kv_evict_interval need a kv_policy "
                  "that evicts, such as streaming"));
  }
  if (budget) rule.budget = *budget;
  if (sinks) rule.sinks = *sinks;
  if (recent) rule.recent = *recent;
  if (interval) rule.interval = *interval;
  if (ratio) rule.heavy_ratio = static_cast<float>(*ratio);
  shared.kv = std::move(rule);
}

}  // namespace

ApiResult<std::string> served_model(JsonFields& fields, const TextSide& text) {
  const std::optional<std::string> name = fields.text("model");
  if (!fields.ok()) return tl::unexpected(fields.error());
  if (!name || name->empty()) return text.names.front();
  if (std::find(text.names.begin(), text.names.end(), *name) != text.names.end()) return *name;
  ApiError e = bad_param(
      "model", "the model '" + name->substr(0, 100) + "' is not served here; it is '" + text.names.front() + "'");
  e.status = 404;
  e.type = "not_found_error";
  e.code = "model_not_found";
  return tl::unexpected(e);
}

ApiResult<std::vector<int32_t>> token_array(const json::array& array, const std::string& param, int32_t vocab) {
  std::vector<int32_t> ids;
  ids.reserve(array.size());
  for (const json::value& v : array) {
    const std::optional<int64_t> id = json_integer(v);
    if (!id || *id < 0 || *id >= vocab) {
      return tl::unexpected(
          bad_param(param, param + " must be an array of token ids from 0 to " + std::to_string(vocab - 1)));
    }
    ids.push_back(static_cast<int32_t>(*id));
  }
  return ids;
}

void read_common(JsonFields& fields, const TextSide& text, const ApiLimits& limits, ApiRequest& request,
                 Request& shared) {
  const ApiResult<std::string> model = served_model(fields, text);
  if (!model) return fields.fault(model.error());
  request.model = *model;
  refuse_unsupported(fields);
  request.n = fields.integer("n", 1, limits.max_choices).value_or(1);
  request.stream = fields.boolean("stream").value_or(false);
  if (const json::object* options = fields.object("stream_options")) {
    JsonFields inner(*options, "stream_options");
    request.include_usage = inner.boolean("include_usage").value_or(false);
    if (!inner.ok()) fields.fault(inner.error());
    if (!request.stream) fields.fault(bad_param("stream_options", "stream_options needs stream to be true"));
  }
  read_sampling(fields, limits.vocab, shared.sampling);
  read_stop(fields, shared);
  read_kv_policy(fields, limits.kv, shared);
  shared.ignore_eos = fields.boolean("ignore_eos").value_or(false);
  shared.priority = static_cast<int32_t>(fields.integer("priority", INT32_MIN, INT32_MAX).value_or(0));
  shared.timeout_seconds = fields.number("timeout", 0, 1e9).value_or(0);
  shared.cache_salt = fields.text("cache_salt").value_or("");
  if (shared.cache_salt.size() > 256) fields.wrong("cache_salt", "at most 256 bytes long");
  read_speculative(fields, shared);
  shared.max_tokens = fields.integer("max_tokens", request.chat ? 1 : 0, kMostTokens).value_or(-1);
}

Request ApiRequest::request(int64_t choice) const {
  Request r = prompts[static_cast<size_t>(choice / n)];
  r.sampling.seed += static_cast<uint64_t>(choice % n) * 0x9E3779B97F4A7C15u;
  return r;
}

}  // namespace toccata::server
