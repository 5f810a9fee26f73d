#include "bench_serve.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <random>
#include <thread>

#include <boost/json.hpp>

#include "arg_parser.h"
#include "base/clock.h"
#include "interrupt.h"
#include "json_reader.h"
#include "loaded_model.h"
#include "output.h"

namespace toccata::cli {
namespace json = boost::json;

namespace {

constexpr const char* kWords[] = {"time", "year",  "people", "way",    "day",   "man",    "thing", "woman",
                                  "life", "child", "world",  "school", "state", "family", "part",  "place",
                                  "case", "week",  "hand",   "night",  "work",  "water",  "room",  "mother",
                                  "area", "money", "story",  "fact",   "month", "book"};

struct Job {
  std::string body;
  double due = 0;  // seconds from the start; closed loop: as soon as somebody is free
  bool is_long = false;
};

std::string words(std::mt19937_64& random, int64_t n) {
  std::string out;
  for (int64_t i = 0; i < n; ++i) out += std::string(i > 0 ? " " : "") + kWords[random() % std::size(kWords)];
  return out;
}

int64_t around(std::mt19937_64& random, int64_t mean, int64_t spread) {
  return spread > 0 ? std::max<int64_t>(
                          1, mean - spread + static_cast<int64_t>(random() % static_cast<uint64_t>(2 * spread + 1)))
                    : mean;
}

std::string body_of(const LoadOptions& o, const std::string& prompt, int64_t output) {
  json::object body{{"model", o.model},
                    {"prompt", prompt},
                    {"max_tokens", output},
                    {"temperature", 0},
                    {"ignore_eos", true},
                    {"stream", true},
                    {"stream_options", json::object{{"include_usage", true}}}};
  return json::serialize(body);
}

std::vector<Job> plan_load(const LoadOptions& o) {
  std::mt19937_64 random(static_cast<uint64_t>(o.seed));
  std::vector<Job> jobs;
  const std::string prefix = o.prefix > 0 ? words(random, o.prefix) + " " : "";
  double due = 0;
  for (int64_t i = 0; i < o.requests; ++i) {
    const std::string prompt = prefix + words(random, around(random, o.prompt, o.prompt_spread));
    jobs.push_back({body_of(o, prompt, around(random, o.output, o.output_spread)), due, false});
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    if (o.rate > 0) due += -std::log1p(-u) / static_cast<double>(o.rate);
  }
  if (o.long_prompt > 0)
    jobs.push_back({body_of(o, words(random, o.long_prompt), 16), static_cast<double>(o.long_after), true});
  return jobs;
}

void take_event(std::string_view line, Sample& s) {
  if (!line.starts_with("data: ") || line.starts_with("data: [DONE]")) return;
  const Result<json::value> value = parse_json(line.substr(6), "an event");
  const json::object* o = value ? value->if_object() : nullptr;
  if (o == nullptr || o->contains("error")) {
    s.error = std::string(line.substr(0, 300));
    return;
  }
  if (const json::value* usage = o->if_contains("usage"); usage != nullptr && usage->is_object()) {
    const json::object& u = usage->get_object();
    s.prompt_tokens = json_integer(u, "prompt_tokens", 0, INT64_MAX, "usage").value_or(0);
    s.output_tokens = json_integer(u, "completion_tokens", 0, INT64_MAX, "usage").value_or(0);
    const json::value* details = u.if_contains("prompt_tokens_details");
    if (details != nullptr && details->is_object()) {
      s.cached_tokens = json_integer(details->get_object(), "cached_tokens", 0, INT64_MAX, "usage").value_or(0);
    }
  }
  const json::value* choices = o->if_contains("choices");
  if (choices == nullptr || !choices->is_array() || choices->get_array().empty()) return;
  const json::object* choice = choices->get_array().front().if_object();
  const json::value* finish = choice != nullptr ? choice->if_contains("finish_reason") : nullptr;
  if (finish == nullptr || finish->is_null()) s.arrivals.push_back(monotonic_seconds());
}

Sample send_job(const Url& url, const LoadOptions& o, const Job& job) {
  Sample s;
  s.is_long = job.is_long;
  s.begin = monotonic_seconds();
  std::string other;  // an answer that is no stream
  const Result<int> status = call(url, {"POST", "/v1/completions", job.body, o.key}, [&](std::string_view line) {
    if (!line.starts_with("data: ") && other.size() < 300) other += line;
    take_event(line, s);
  });
  s.end = monotonic_seconds();
  if (!status)
    s.error = status.error().message;
  else if (*status != 200)
    s.error = "status " + std::to_string(*status) + ": " + other.substr(0, 300);
  return s;
}

class Load {
 public:
  Load(const Url& url, const LoadOptions& o) : url_(url), options_(o), jobs_(plan_load(o)), samples_(jobs_.size()) {}

  std::string run() {
    const double begin = monotonic_seconds();
    const size_t closed = static_cast<size_t>(options_.requests);
    const size_t clients =
        options_.rate > 0 ? closed : static_cast<size_t>(std::min(options_.concurrency, options_.requests));
    std::vector<std::thread> threads;
    for (size_t i = 0; i < clients; ++i) threads.emplace_back([this, begin, closed] { work(begin, closed); });
    if (jobs_.size() > closed) threads.emplace_back([this, begin, closed] { one(begin, closed); });
    for (std::thread& t : threads) t.join();
    return load_report(options_, samples_, monotonic_seconds() - begin);
  }

 private:
  void work(double begin, size_t end) {
    for (size_t i; !interrupted() && (i = next_++) < end;) one(begin, i);
  }
  void one(double begin, size_t i) {
    while (!interrupted() && monotonic_seconds() - begin < jobs_[i].due) {
      const double rest = jobs_[i].due - (monotonic_seconds() - begin);
      std::this_thread::sleep_for(std::chrono::duration<double>(std::min(std::max(rest, 0.0), 0.1)));
    }
    samples_[i] = interrupted() ? Sample{} : send_job(url_, options_, jobs_[i]);
  }

  const Url url_;
  const LoadOptions& options_;
  const std::vector<Job> jobs_;
  std::vector<Sample> samples_;
  std::atomic<size_t> next_ = 0;
};

void declare(ArgParser& parser, LoadOptions& o) {
  parser.text("--url", o.url, "URL", "address of the server, without /v1");
  parser.text("--model", o.model, "NAME", "model name; by default the first one the server lists");
  parser.text("--api-key", o.key, "KEY", "key of the server");
  parser.integer("--concurrency", o.concurrency, 1, 4096, "requests at once (closed loop)");
  parser.number("--rate", o.rate, 0, 1e6f, "requests per second at random times (open loop); 0: closed loop");
  parser.integer("--requests", o.requests, 1, 1 << 20, "requests in all; in the open loop at most 4096");
  parser.integer("-p,--prompt", o.prompt, 1, 1 << 20, "words of a prompt; a word is about a token");
  parser.integer("--prompt-spread", o.prompt_spread, 0, 1 << 20, "prompts are this much shorter or longer");
  parser.integer("-n,--output", o.output, 1, 1 << 20, "tokens of an answer");
  parser.integer("--output-spread", o.output_spread, 0, 1 << 20, "answers are this much shorter or longer");
  parser.integer("--prefix", o.prefix, 0, 1 << 20, "words that all prompts begin with");
  parser.integer("--long-prompt", o.long_prompt, 0, 1 << 20,
                 "words of one long prompt that arrives while the others run");
  parser.number("--long-after", o.long_after, 0, 3600, "seconds after which it arrives");
  parser.number("--slo-ttft", o.slo_ttft, 0, 1e9f, "goodput: most milliseconds to the first token; 0: any");
  parser.number("--slo-itl", o.slo_itl, 0, 1e9f, "goodput: most milliseconds between two tokens; 0: any");
  parser.integer("-s,--seed", o.seed, 0, INT64_MAX, "seed of prompts, lengths and times");
  parser.flag("--json", o.json, "one JSON object on stdout");
  parser.footer(
      "Examples:\n  toccata bench serve --url http://127.0.0.1:8080 --concurrency 8 -p 64 -n 128\n"
      "  toccata bench serve --concurrency 8 --long-prompt 3000     what a long prompt does to running streams\n"
      "  toccata bench serve --rate 2 --slo-ttft 2000 --slo-itl 200  goodput at two requests per second");
}

Result<std::string> first_model(const Url& url, const LoadOptions& o) {
  std::string text;
  const Result<int> status = call(url, {"GET", "/v1/models", "", o.key}, [&](std::string_view line) { text += line; });
  if (!status) return tl::unexpected(status.error());
  if (*status != 200)
    return fail(ErrorCode::kUnavailable,
                "/v1/models gave status " + std::to_string(*status) + ": " + text.substr(0, 300));
  const Result<json::value> value = parse_json(text, "/v1/models");
  if (!value) return tl::unexpected(value.error());
  if (!value->is_object()) return fail(ErrorCode::kInvalidFile, "/v1/models gave no object");
  const Result<const json::array*> data = json_array(value->get_object(), "data", "/v1/models");
  if (!data) return tl::unexpected(data.error());
  if ((*data)->empty() || !(*data)->front().is_object()) return fail(ErrorCode::kNotFound, "the server lists no model");
  return json_string((*data)->front().get_object(), "id", "/v1/models");
}

}  // namespace

int bench_serve_main(int argc, char** argv) {
  LoadOptions o;
  ArgParser parser("toccata bench serve", "Measures any server with OpenAI's API: latencies, throughput, goodput.");
  declare(parser, o);
  if (const std::optional<int> code = parser.parse(argc, argv)) return *code;
  const Result<Url> url = parse_url(o.url);
  if (!url) return parser.usage_error(url.error().message);
  if (o.rate > 0 && o.requests > 4096) return parser.usage_error("--rate takes at most 4096 --requests");
  install_signal_handlers();
  if (o.model.empty()) {
    Result<std::string> name = first_model(*url, o);
    if (!name) return report("bench serve", name.error());
    o.model = *name;
  }
  const Status written = write_stdout(Load(*url, o).run());
  if (!written) return report("bench serve", written.error());
  return interrupted() ? 130 : 0;
}

}  // namespace toccata::cli
