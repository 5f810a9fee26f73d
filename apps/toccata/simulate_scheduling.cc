// `toccata simulate scheduling`: what the scheduler's settings do to the users' waiting times.
#include <algorithm>
#include <cstdio>
#include <limits>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "json_reader.h"
#include "loaded_model.h"
#include "output.h"
#include "sim/timeline.h"
#include "simulate.h"

namespace toccata::cli {
namespace json = boost::json;
namespace {

constexpr size_t kMostShown = 64;  // requests with a timeline
constexpr size_t kMostRequests = 10'000'000;

struct SchedulingOptions {
  std::string requests, svg, costs;
  int64_t streams = 8, stream_prompt = 64, output = 128, long_prompt = 4096;
  float after = 1, hours = 24;
  std::string rate;
  int64_t prompt_mean = 512;
  int64_t seed = 1;
  int64_t chunk = 512, sequences = 32, kv_tokens = 1 << 20;
  float target = 60;
  ModelOptions model;
  int64_t columns = 100;
  bool json = false;
};

void declare(ArgParser& parser, SchedulingOptions& o) {
  constexpr int64_t kMost = 1 << 24;
  parser.group("Requests");
  parser.integer("--streams", o.streams, 0, 4096, "answers that run when the long prompt arrives");
  parser.integer("--stream-prompt", o.stream_prompt, 1, kMost, "tokens of their prompts");
  parser.integer("--long-prompt", o.long_prompt, 0, kMost, "tokens of the long prompt; 0: none");
  parser.number("--long-after", o.after, 0, 1e6f, "seconds after which it arrives");
  parser.integer("--output", o.output, 1, kMost, "tokens of each answer; a mean with --rate");
  parser.text("--requests", o.requests, "FILE", "instead of these: JSON lines of arrival, prompt, output[, priority]");
  parser.text("--rate", o.rate, "X", "instead of these: so many requests per second at random times");
  parser.number("--hours", o.hours, 0.001f, 8784, "of such traffic");
  parser.integer("--prompt-mean", o.prompt_mean, 1, kMost, "mean tokens of its prompts");
  parser.integer("-s,--seed", o.seed, 0, INT64_MAX, "random seed of the traffic");
  parser.group("Scheduler");
  parser.integer("-ub,--chunk-size", o.chunk, 1, 1 << 20, "prompt tokens per step, of the fixed setting");
  parser.number("--itl-target", o.target, 0, 1e6f, "milliseconds between two tokens, of the last setting; 0: without");
  parser.integer("--max-num-seqs", o.sequences, 1, 4096, "requests that run at once");
  parser.integer("--kv-tokens", o.kv_tokens, 32, int64_t{1} << 40, "that the KV cache holds");
  parser.group("Machine");
  parser.text("--costs", o.costs, "X,X,X,X,X,X",
              "milliseconds of a step, of one with prompt tokens more, per prompt token, per 1024 keys of those, per "
              "decode, per 1024 keys of those; without it: about a model of 135M on two CPUs");
  add_model_path(parser, o.model);
  parser.integer("-t,--threads", o.model.threads, 0, 1024, "threads; 0: one per CPU");
  parser.group("Output");
  parser.integer("--columns", o.columns, 10, 1000, "width of the timeline");
  parser.text("--svg", o.svg, "FILE", "the timelines as a picture");
  parser.flag("--json", o.json, "one JSON object with each token's time");
  parser.footer(
      "Runs the engine's scheduler on a virtual clock with four settings: prompts read whole, in chunks of a\n"
      "fixed size, in chunks as large as eight decode steps allow (the server's default), and with a target\n"
      "for the gap between two tokens (ITL). With -m the steps cost what they are measured to cost here.\n"
      "\n"
      "Examples:\n"
      "  toccata simulate scheduling\n"
      "  toccata simulate scheduling --streams 4 --long-prompt 8192 --itl-target 40 --svg timeline.svg\n"
      "  toccata simulate scheduling --rate 0.5 --hours 24 --prompt-mean 300 --output 100");
}

Result<sim::SimRequest> read_request(const json::value& value, const std::string& where) {
  constexpr int64_t kMost = 1 << 24;
  if (!value.is_object()) return fail(ErrorCode::kInvalidFile, where + " must be a JSON object");
  const json::object& o = value.get_object();
  const Result<const json::value*> arrival = json_field(o, "arrival", where);
  if (!arrival) return tl::unexpected(arrival.error());
  if (!(*arrival)->is_number() || !((*arrival)->to_number<double>() >= 0)) {
    return fail(ErrorCode::kInvalidFile, where + ": field 'arrival' must be a number of seconds, at least 0");
  }
  const Result<int64_t> prompt = json_integer(o, "prompt", 1, kMost, where);
  if (!prompt) return tl::unexpected(prompt.error());
  const Result<int64_t> output = json_integer(o, "output", 1, kMost, where);
  if (!output) return tl::unexpected(output.error());
  const Result<int64_t> priority = o.contains("priority") ? json_integer(o, "priority", -1000, 1000, where) : 0;
  if (!priority) return tl::unexpected(priority.error());
  return sim::SimRequest{(*arrival)->to_number<double>(), *prompt, *output, static_cast<int32_t>(*priority)};
}

Result<std::vector<sim::SimRequest>> read_requests(const std::string& path) {
  const Result<std::string> text = read_text(path);
  if (!text) return tl::unexpected(text.error());
  std::vector<sim::SimRequest> requests;
  size_t number = 0;
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    const std::string_view line = std::string_view(*text).substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string where = "'" + path + "' line " + std::to_string(number);
    const Result<json::value> value = parse_json(line, where);
    if (!value) return tl::unexpected(value.error());
    Result<sim::SimRequest> request = read_request(*value, where);
    if (!request) return tl::unexpected(request.error());
    requests.push_back(*request);
  }
  if (requests.empty()) return fail(ErrorCode::kInvalidFile, "'" + path + "' has no requests");
  std::stable_sort(requests.begin(), requests.end(),
                   [](const sim::SimRequest& a, const sim::SimRequest& b) { return a.arrival < b.arrival; });
  return requests;
}

Result<std::vector<sim::SimRequest>> requests_of(const SchedulingOptions& o) {
  if (!o.requests.empty()) return read_requests(o.requests);
  std::vector<sim::SimRequest> requests;
  if (!o.rate.empty()) {
    const double rate = numbers_within(o.rate, 1e-6, 1e4)->front();
    const double seconds = static_cast<double>(o.hours) * 3600;
    if (rate * seconds > static_cast<double>(kMostRequests)) {
      return fail(ErrorCode::kInvalidArgument,
                  "more than " + std::to_string(kMostRequests) + " requests: lower --rate");
    }
    requests = sim::arrivals({rate, seconds, o.prompt_mean, o.output, static_cast<uint64_t>(o.seed)});
  } else {
    for (int64_t i = 0; i < o.streams; ++i) requests.push_back({0, o.stream_prompt, o.output, 0});
    if (o.long_prompt > 0) requests.push_back({static_cast<double>(o.after), o.long_prompt, o.output, 0});
  }
  if (requests.empty()) return fail(ErrorCode::kInvalidArgument, "there are no requests to simulate");
  return requests;
}

struct Setting {
  std::string name;
  sched::Options options;
  sim::SimRun run;
  sim::Latencies latencies;
};

// A prompt that is read whole is one step, however long it is.
std::vector<Setting> settings_of(const SchedulingOptions& o, std::span<const sim::SimRequest> requests) {
  int64_t longest = std::max<int64_t>(512, o.chunk);
  for (const sim::SimRequest& r : requests) longest = std::max(longest, r.prompt + r.output);
  sched::Options base;
  base.max_sequences = o.sequences;
  base.max_rows = o.sequences + longest + 1;
  std::vector<Setting> settings(3, {"", base, {}, {}});
  settings[0].name = "whole prompts";
  settings[0].options.chunked = false;
  settings[1].name = "chunks of " + std::to_string(o.chunk);
  settings[1].options.chunk_size = o.chunk;
  settings[2].name = "auto";
  if (o.target > 0) {
    char name[48];
    std::snprintf(name, sizeof name, "ITL target %g ms", static_cast<double>(o.target));
    settings.push_back({name, base, {}, {}});
    settings.back().options.itl_target = static_cast<double>(o.target) / 1e3;
  }
  return settings;
}

std::string line(const char* pattern, auto... values) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

std::string text_of(const SchedulingOptions& o, std::span<const sim::SimRequest> requests,
                    std::span<const Setting> settings, const sim::StepCost& c) {
  std::string text;
  if (requests.size() <= kMostShown) {
    for (const Setting& s : settings) {
      text += line("%s: %.2f s\n", s.name.c_str(), s.run.end) +
              sim::timeline_text(requests, s.run, static_cast<int>(o.columns)) + "\n";
    }
    text += "█ a token came   ▒ its prompt is read   . it waits\n\n";
  }
  text += line("%zu requests; ms: first token (TTFT), gap between tokens (ITL)\n", requests.size());
  text += line("%-22s %9s %9s %9s | %8s %8s %8s %8s | %8s %9s\n", "setting", "TTFT p50", "p99", "max", "ITL p50", "p99",
               "max", "std dev", "end", "busy");
  for (const Setting& s : settings) {
    const auto ms = [](const std::vector<double>& v, double p) { return sim::percentile(v, p) * 1e3; };
    const std::vector<double>&t = s.latencies.ttft, &i = s.latencies.itl;
    text += line("%-22s %9.1f %9.1f %9.1f | %8.1f %8.1f %8.1f %8.1f | %6.1f s %7.1f %%\n", s.name.c_str(), ms(t, 50),
                 ms(t, 99), ms(t, 100), ms(i, 50), ms(i, 99), ms(i, 100), sim::deviation(i) * 1e3, s.run.end,
                 s.run.end > 0 ? 100 * s.run.busy / s.run.end : 0);
  }
  return text + line("\n--costs %.4g,%.4g,%.4g,%.4g,%.4g,%.4g\n", c.base * 1e3, c.prefill * 1e3, c.prefill_token * 1e3,
                     c.prefill_keys * 1e3, c.decode_row * 1e3, c.decode_keys * 1e3);
}

json::object summary(const std::vector<double>& sorted) {
  return {{"p50", sim::percentile(sorted, 50)},
          {"p99", sim::percentile(sorted, 99)},
          {"max", sim::percentile(sorted, 100)}};
}

json::object setting_json(const Setting& s, std::span<const sim::SimRequest> requests) {
  json::object o{{"setting", s.name},
                 {"end_s", s.run.end},
                 {"busy_s", s.run.busy},
                 {"steps", s.run.step_count},
                 {"preemptions", s.run.preemptions},
                 {"ttft_s", summary(s.latencies.ttft)},
                 {"itl_s", summary(s.latencies.itl)},
                 {"itl_deviation_s", sim::deviation(s.latencies.itl)}};
  if (requests.size() > kMostShown) return o;
  json::array shown, steps;
  for (size_t i = 0; i < requests.size(); ++i) {
    const sim::SimRequest& r = requests[i];
    shown.push_back({{"arrival_s", r.arrival},
                     {"prompt", r.prompt},
                     {"output", r.output},
                     {"ttft_s", s.run.ttft(i, r)},
                     {"tokens_s", json::array(s.run.tokens[i].begin(), s.run.tokens[i].end())}});
  }
  for (const sim::SimStep& step : s.run.steps) {
    json::array slices;
    for (const sched::Slice& slice : step.slices) {
      slices.push_back({{"request", slice.id}, {"first", slice.first}, {"count", slice.count}});
    }
    steps.push_back({{"begin_s", step.begin}, {"end_s", step.end}, {"slices", std::move(slices)}});
  }
  o["requests"] = std::move(shown);
  o["timeline"] = std::move(steps);
  return o;
}

std::string json_of(std::span<const sim::SimRequest> requests, std::span<const Setting> settings) {
  json::array all;
  for (const Setting& s : settings) all.push_back(setting_json(s, requests));
  return json::serialize(json::object{{"count", requests.size()}, {"settings", std::move(all)}}) + "\n";
}

Status write_svg(const std::string& path, std::span<const sim::SimRequest> requests,
                 std::span<const Setting> settings) {
  std::vector<std::pair<std::string, const sim::SimRun*>> runs;
  for (const Setting& s : settings) runs.emplace_back(s.name, &s.run);
  Result<OutputFile> file = OutputFile::create(path);
  if (!file) return tl::unexpected(file.error());
  if (Status s = file->write(sim::timeline_svg(requests, runs)); !s) return s;
  return file->close();
}

Status simulate(const SchedulingOptions& o, const sim::StepCost& cost) {
  const Result<std::vector<sim::SimRequest>> requests = requests_of(o);
  if (!requests) return tl::unexpected(requests.error());
  const bool shown = requests->size() <= kMostShown;
  if (!o.svg.empty() && !shown) {
    return fail(ErrorCode::kInvalidArgument, "--svg shows at most " + std::to_string(kMostShown) + " requests, not " +
                                                 std::to_string(requests->size()));
  }
  std::vector<Setting> settings = settings_of(o, *requests);
  for (Setting& s : settings) {
    Result<sim::SimRun> run = sim::run_schedule(*requests, s.options, o.kv_tokens / 32, cost, shown);
    if (!run) return tl::unexpected(run.error());
    s.run = std::move(*run);
    s.latencies = sim::Latencies::of(*requests, s.run);
    if (!shown) s.run.tokens.clear();  // a day has millions of them
  }
  if (!o.svg.empty()) {
    if (Status s = write_svg(o.svg, *requests, settings); !s) return s;
  }
  return write_stdout(o.json ? json_of(*requests, settings) : text_of(o, *requests, settings, cost));
}

// Empty: none.
std::string fault_of(const ArgParser& parser, const SchedulingOptions& o) {
  const bool file = !o.requests.empty(), traffic = !o.rate.empty();
  if (file && traffic) return "--requests does not go with --rate";
  for (const char* name : {"--streams", "--stream-prompt", "--long-prompt", "--long-after"}) {
    if (parser.given(name) && (file || traffic)) {
      return std::string(name) + " does not go with " + (file ? "--requests" : "--rate");
    }
  }
  for (const char* name : {"--hours", "--prompt-mean", "--seed"}) {
    if (parser.given(name) && !traffic) return std::string(name) + " needs --rate";
  }
  if (file && parser.given("--output")) return "--output does not go with --requests";
  if (!o.costs.empty() && !o.model.path.empty()) return "--costs does not go with -m";
  if (parser.given("--threads") && o.model.path.empty()) return "--threads needs -m";
  if (traffic) {
    const Result<std::vector<double>> rate = numbers_within(o.rate, 1e-6, 1e4);
    if (!rate || rate->size() != 1) return "--rate must be a number from 0.000001 to 10000, not " + quoted(o.rate);
  }
  return "";
}

Result<sim::StepCost> given_costs(const std::string& text) {
  const Result<std::vector<double>> ms = numbers_within(text, 0, 1e9);
  if (!ms || ms->size() != 6) {
    return fail(ErrorCode::kInvalidArgument, "--costs must be six numbers of milliseconds, not " + quoted(text));
  }
  const std::vector<double>& m = *ms;
  if (m[0] <= 0) return fail(ErrorCode::kInvalidArgument, "--costs: a step takes more than 0 ms");
  return sim::StepCost{m[0] / 1e3, m[1] / 1e3, m[2] / 1e3, m[3] / 1e3, m[4] / 1e3, m[5] / 1e3};
}

}  // namespace

int simulate_scheduling_main(int argc, char** argv) {
  SchedulingOptions o;
  ArgParser parser("toccata simulate scheduling",
                   "Runs the scheduler on a virtual clock and shows who waits for whom.");
  declare(parser, o);
  if (const std::optional<int> code = parser.parse(argc, argv)) return *code;
  if (const std::string fault = fault_of(parser, o); !fault.empty()) return parser.usage_error(fault);
  sim::StepCost cost;
  if (!o.costs.empty()) {
    const Result<sim::StepCost> given = given_costs(o.costs);
    if (!given) return parser.usage_error(given.error().message);
    cost = *given;
  }
  if (!o.model.path.empty()) {
    const Result<sim::StepCost> measured = measure_costs(o.model, o.streams);
    if (!measured) return report("simulate scheduling", measured.error());
    cost = *measured;
  }
  const Status s = simulate(o, cost);
  return s ? 0 : report("simulate scheduling", s.error());
}

}  // namespace toccata::cli
