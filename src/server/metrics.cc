#include "server/metrics.h"

#include <algorithm>
#include <cstdio>

namespace toccata::server {
namespace {

// The buckets of vLLM's histograms, so that dashboards made for them fit.
constexpr double kFirstToken[] = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
                                  1,     2.5,   5,    7.5,  10,   20,   40,   80,  160,  640, 2560};
constexpr double kGap[] = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
                           0.75, 1,     2.5,  5,     7.5, 10,   20,  40,  80};
constexpr double kRequest[] = {0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                               30,  40,  50,  60, 120, 240, 480, 960, 1920, 7680};
constexpr double kTokens[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};
constexpr const char* kReasons[] = {"stop", "length", "abort", "timeout", "error"};

std::string number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", x);
  return text;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

class Page {
 public:
  explicit Page(const std::string& model) : model_("model_name=\"" + escaped(model) + "\"") {}
  void head(const char* name, const char* type, const char* help) {
    out += std::string("# HELP toccata:") + name + " " + help + "\n# TYPE toccata:" + name + " " + type + "\n";
  }
  void sample(const char* name, double value, const std::string& label = "") {
    out += std::string("toccata:") + name + "{" + model_ + (label.empty() ? "" : ",") + label + "} " + number(value) +
           "\n";
  }
  void gauge(const char* name, double value, const char* help) {
    head(name, "gauge", help);
    sample(name, value);
  }
  void counter(const char* name, uint64_t value, const char* help) {
    head(name, "counter", help);
    sample(name, static_cast<double>(value));
  }
  void histogram(const char* name, const Histogram& h, const char* help) {
    head(name, "histogram", help);
    h.write(out, std::string("toccata:") + name, model_);
  }
  std::string out;

 private:
  std::string model_;
};

void engine_part(Page& page, const Metrics::Gauges& g) {
  const EngineStats& s = g.stats;
  page.gauge("ready", g.ready ? 1 : 0, "1 once the model is loaded and while requests are admitted.");
  page.gauge("num_requests_running", static_cast<double>(s.running), "Requests in the batch.");
  page.gauge("num_requests_waiting", static_cast<double>(s.waiting), "Requests in the queue.");
  page.gauge("num_tokens_waiting", static_cast<double>(s.waiting_tokens), "Prompt tokens in the queue.");
  page.gauge("kv_cache_usage_perc",
             s.kv_blocks > 0 ? static_cast<double>(s.kv_blocks_used) / static_cast<double>(s.kv_blocks) : 0,
             "Share of the KV blocks that requests hold, 0 to 1.");
  page.gauge("kv_blocks", static_cast<double>(s.kv_blocks), "KV blocks of the pool.");
  page.gauge("kv_blocks_used", static_cast<double>(s.kv_blocks_used), "KV blocks that requests hold.");
  page.gauge("kv_blocks_cached", static_cast<double>(s.kv_blocks_cached),
             "KV blocks that only the prefix cache holds.");
  page.gauge("kv_bytes_used", static_cast<double>(s.kv_bytes_used), "Bytes of the KV blocks that requests hold.");
  page.counter("kv_evicted_tokens_total", s.kv_evicted_tokens, "Tokens that KV policies evicted.");
  page.counter("prefix_cache_queries_total", s.prefix_queries, "Prompt tokens looked up in the prefix cache.");
  page.counter("prefix_cache_hits_total", s.prefix_hits, "Prompt tokens found there.");
  page.counter("num_preemptions_total", s.preemptions, "Requests that had to give their blocks back for a while.");
  const SpeculationStats& spec = s.speculation;
  page.counter("spec_decode_num_drafts_total", spec.drafts, "Drafts that were verified.");
  page.counter("spec_decode_num_draft_tokens_total", spec.draft_tokens, "Drafted tokens that were verified.");
  page.counter("spec_decode_num_accepted_tokens_total", spec.accepted_tokens, "Drafted tokens that were right.");
  page.head("spec_decode_num_accepted_tokens_per_pos_total", "counter", "The same by position in the draft.");
  for (size_t i = 0; i < spec.accepted_per_position.size(); ++i) {
    page.sample("spec_decode_num_accepted_tokens_per_pos_total", static_cast<double>(spec.accepted_per_position[i]),
                "position=\"" + std::to_string(i) + "\"");
  }
  page.counter("prompt_tokens_total", s.prompt_tokens, "Prompt tokens processed.");
  page.counter("engine_steps_total", s.steps, "Steps of the engine.");
  page.gauge("last_step_tokens", static_cast<double>(s.last_step_tokens), "Tokens of the latest step.");
  page.gauge("last_step_seconds", s.last_step_seconds, "Duration of the latest step.");
  page.gauge("last_step_predicted_seconds", s.last_step_predicted_seconds, "What the cost model had predicted for it.");
}

}  // namespace

void Histogram::observe(double value) {
  const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value);
  ++counts_[static_cast<size_t>(at - bounds_.begin())];
  sum_ += value;
}

void Histogram::write(std::string& out, const std::string& name, const std::string& labels) const {
  uint64_t total = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    total += counts_[i];
    const std::string bound = i < bounds_.size() ? number(bounds_[i]) : "+Inf";
    out += name + "_bucket{" + labels + ",le=\"" + bound + "\"} " + std::to_string(total) + "\n";
  }
  out += name + "_sum{" + labels + "} " + number(sum_) + "\n";
  out += name + "_count{" + labels + "} " + std::to_string(total) + "\n";
}

Metrics::Metrics()
    : first_token_(kFirstToken),
      token_gap_(kGap),
      per_token_(kGap),
      total_(kRequest),
      queue_(kRequest),
      prefill_(kRequest),
      decode_(kRequest),
      prompt_(kTokens),
      generated_(kTokens),
      longest_gap_(kGap) {}

void Metrics::first_tokens(size_t count, double seconds) {
  const std::lock_guard lock(mutex_);
  generated_tokens_ += count;
  first_token_.observe(seconds);
}

void Metrics::more_tokens(size_t count, double seconds) {
  const std::lock_guard lock(mutex_);
  generated_tokens_ += count;
  token_gap_.observe(seconds);
}

void Metrics::finished(FinishReason reason, const RequestReport& r) {
  const std::lock_guard lock(mutex_);
  ++finished_[static_cast<size_t>(reason)];
  total_.observe(r.total_seconds);
  queue_.observe(r.queue_seconds);
  prompt_.observe(static_cast<double>(r.prompt_tokens));
  generated_.observe(static_cast<double>(r.generated_tokens));
  cached_tokens_ += static_cast<uint64_t>(std::max<int64_t>(0, r.cached_tokens));
  if (r.generated_tokens == 0) return;
  const double decode = std::max(0.0, r.total_seconds - r.first_token_seconds);
  prefill_.observe(r.prefill_seconds);
  decode_.observe(decode);
  if (r.generated_tokens > 1) {
    per_token_.observe(decode / static_cast<double>(r.generated_tokens - 1));
    longest_gap_.observe(r.longest_gap_seconds);
  }
}

void Metrics::answered(int status) {
  const std::lock_guard lock(mutex_);
  ++statuses_[static_cast<size_t>(std::clamp(status / 100, 0, 5))];
}

std::string Metrics::text(const std::string& model, const Gauges& gauges) const {
  Page page(model);
  engine_part(page, gauges);
  page.gauge("http_connections", static_cast<double>(gauges.connections), "Open connections.");
  page.gauge("http_requests_in_flight", static_cast<double>(gauges.exchanges),
             "HTTP requests whose answer is not complete.");
  const std::lock_guard lock(mutex_);
  page.head("request_success_total", "counter", "Requests that ended, by reason.");
  for (size_t i = 0; i < finished_.size(); ++i) {
    page.sample("request_success_total", static_cast<double>(finished_[i]),
                std::string("finished_reason=\"") + kReasons[i] + "\"");
  }
  page.counter("generation_tokens_total", generated_tokens_, "Tokens generated.");
  page.counter("prompt_tokens_cached_total", cached_tokens_,
               "Prompt tokens of ended requests that came from the prefix cache.");
  page.head("http_responses_total", "counter", "HTTP answers by class; 4xx includes clients that went away.");
  for (size_t i = 2; i < statuses_.size(); ++i) {
    page.sample("http_responses_total", static_cast<double>(statuses_[i]), "class=\"" + std::to_string(i) + "xx\"");
  }
  page.histogram("time_to_first_token_seconds", first_token_, "From a request's arrival to its first token.");
  page.histogram("inter_token_latency_seconds", token_gap_, "Between two tokens of a request.");
  page.histogram("request_time_per_output_token_seconds", per_token_, "Mean of the gaps of a request.");
  page.histogram("request_longest_gap_seconds", longest_gap_, "Longest gap of a request.");
  page.histogram("e2e_request_latency_seconds", total_, "From a request's arrival to its end.");
  page.histogram("request_queue_time_seconds", queue_, "From a request's arrival to its first step.");
  page.histogram("request_prefill_time_seconds", prefill_, "From a request's first step to its first token.");
  page.histogram("request_decode_time_seconds", decode_, "From a request's first token to its end.");
  page.histogram("request_prompt_tokens", prompt_, "Prompt tokens of a request.");
  page.histogram("request_generation_tokens", generated_, "Generated tokens of a request.");
  return page.out;
}

}  // namespace toccata::server
