// What continuous batching, chunked prefill and the prefix cache are worth on this machine: a program of its own.
//
//   engine_bench MODEL.gguf [LONG_PROMPT_TOKENS [PART ...]]
//
// Parts: batching auto 60 100 200 c64 c256 c512 classic prefix (numbers are ITL targets); all without any.
// Prints, for one model: tokens/s of 1 to 8 streams, and the share of the step that is spent outside the model; the
// gaps of 8 running streams while one long prompt is read, by chunk setting, and that prompt's time to its first token;
// the time to the first token of a prompt that the prefix cache holds. Times move with the machine's load: compare
// rows.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>

#include "base/clock.h"
#include "toccata/engine.h"

namespace toccata {
namespace {

class Stream final : public RequestListener {
 public:
  std::vector<double> times;
  RequestReport report;

  void on_tokens(std::vector<TokenOutput> tokens, std::string) override {
    const std::lock_guard lock(mutex_);
    if (!tokens.empty()) times.push_back(monotonic_seconds());
    changed_.notify_all();
  }
  void on_finish(FinishReason, const RequestReport& r) override {
    const std::lock_guard lock(mutex_);
    report = r;
    finished_ = true;
    changed_.notify_all();
  }
  void wait_for(size_t tokens) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return finished_ || times.size() >= tokens; });
  }
  void wait() { wait_for(SIZE_MAX); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool finished_ = false;
};

Request random_request(int64_t prompt, int64_t answer, unsigned seed, int32_t vocab) {
  std::mt19937 rng(seed);
  Request r;
  for (int64_t i = 0; i < prompt; ++i) r.prompt.push_back(static_cast<int32_t>(rng() % static_cast<unsigned>(vocab)));
  r.max_tokens = answer;
  r.ignore_eos = true;
  r.sampling.temperature = 0;
  return r;
}

std::unique_ptr<Engine> start(EngineOptions o) {
  o.context = 8192;
  o.kv_memory = uint64_t{2} << 30;
  Result<std::unique_ptr<Engine>> engine = Engine::start(o);
  if (!engine) {
    std::fprintf(stderr, "%s\n", engine.error().message.c_str());
    std::exit(1);
  }
  return std::move(*engine);
}

double quantile(std::vector<double> v, double q) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return v[std::min(v.size() - 1, static_cast<size_t>(q * static_cast<double>(v.size())))];
}

using Streams = std::vector<std::shared_ptr<Stream>>;

Streams submit(Engine& engine, int count, int64_t prompt, int64_t answer, unsigned seed,
               const SamplingParams* sampling = nullptr) {
  Streams all;
  for (int i = 0; i < count; ++i) {
    Request r = random_request(prompt, answer, seed + static_cast<unsigned>(i), engine.info().vocab);
    if (sampling) r.sampling = *sampling;
    all.push_back(std::make_shared<Stream>());
    if (!engine.submit(std::move(r), all.back())) std::exit(1);
  }
  return all;
}

void batching(const EngineOptions& o) {
  std::printf("\nstreams | tokens/s | outside the model, greedy | temperature 1, top-p 1 | temperature 1, top-k 40\n");
  SamplingParams free, top_k;
  free.temperature = top_k.temperature = 1;
  free.top_p = top_k.top_p = 1;
  free.min_p = top_k.min_p = 0;
  free.top_k = 0;
  top_k.top_k = 40;
  auto engine = start(o);
  unsigned seed = 1;
  for (int count : {1, 2, 4, 8}) {
    double rate = 0, outside[3] = {};
    for (int kind = 0; kind < 3; ++kind) {
      Streams all = submit(*engine, count, 32, 96, seed += 100, kind == 0 ? nullptr : kind == 1 ? &free : &top_k);
      for (auto& s : all) s->wait_for(2);
      const EngineStats a = engine->stats();
      const double begin = monotonic_seconds();
      for (auto& s : all) s->wait_for(90);
      const EngineStats b = engine->stats();
      if (kind == 0)
        rate = static_cast<double>(b.generated_tokens - a.generated_tokens) / (monotonic_seconds() - begin);
      outside[kind] = 1.0 - (b.forward_seconds - a.forward_seconds) / (b.step_seconds - a.step_seconds);
      for (auto& s : all) s->wait();
    }
    std::printf("%7d | %8.1f | %6.2f %% | %6.2f %% | %6.2f %%\n", count, rate, 100 * outside[0], 100 * outside[1],
                100 * outside[2]);
  }
}

void long_prompt(const EngineOptions& base, const char* name, int64_t tokens) {
  auto engine = start(base);
  Streams streams = submit(*engine, 8, 64, 4000, 1);
  for (auto& s : streams) s->wait_for(48);
  const double begin = monotonic_seconds();
  Streams arrived = submit(*engine, 1, tokens, 1, 77);
  arrived[0]->wait();
  const double end = monotonic_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::vector<double> before, during;
  for (auto& s : streams) {
    s->wait_for(49);
    for (size_t i = 1; i < s->times.size(); ++i) {
      const double gap = s->times[i] - s->times[i - 1];
      if (s->times[i] < begin && i > 8) before.push_back(gap);
      if (s->times[i] > begin && s->times[i - 1] < end) during.push_back(gap);
    }
  }
  std::printf("%-22s | %6.1f / %6.1f | %7.1f / %7.1f / %8.1f | %7.2f s\n", name, 1e3 * quantile(before, 0.5),
              1e3 * quantile(before, 0.99), 1e3 * quantile(during, 0.5), 1e3 * quantile(during, 0.99),
              1e3 * quantile(during, 1.0), arrived[0]->report.first_token_seconds);
  std::fflush(stdout);
}

void prefix(const EngineOptions& o) {
  auto engine = start(o);
  double first[2] = {};
  for (double& seconds : first) {
    Streams s = submit(*engine, 1, 1025, 1, 5);
    s[0]->wait();
    seconds = s[0]->report.first_token_seconds;
  }
  std::printf("\nfirst token of a prompt of 1,025 tokens: %.3f s, again with the prefix cache: %.3f s\n", first[0],
              first[1]);
}

int bench(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: engine_bench MODEL.gguf [LONG_PROMPT_TOKENS]\n");
    return 2;
  }
  EngineOptions o;
  o.model = argv[1];
  const int64_t tokens = argc > 2 ? std::strtoll(argv[2], nullptr, 10) : 3000;
  const std::vector<std::string> only(argv + std::min(argc, 3), argv + argc);
  const auto wanted = [&](const std::string& name) {
    return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
  };
  if (wanted("batching")) batching(o);
  std::printf("\n8 streams, then a prompt of %lld tokens\n", static_cast<long long>(tokens));
  std::printf("%-22s | gap before ms, p50 / p99 | while it is read ms, p50 / p99 / max | its first token\n", "setting");
  if (wanted("auto")) long_prompt(o, "auto", tokens);
  for (double target : {60.0, 100.0, 200.0}) {
    EngineOptions t = o;
    t.itl_target_ms = target;
    if (wanted(std::to_string(static_cast<int>(target))))
      long_prompt(t, ("target " + std::to_string(static_cast<int>(target)) + " ms").c_str(), tokens);
  }
  for (int64_t chunk : {64, 256, 512}) {
    EngineOptions c = o;
    c.chunk_size = chunk;
    if (wanted("c" + std::to_string(chunk))) long_prompt(c, ("chunks of " + std::to_string(chunk)).c_str(), tokens);
  }
  EngineOptions classic = o;
  classic.chunked_prefill = false;
  if (wanted("classic")) long_prompt(classic, "not chunked", tokens);
  if (wanted("prefix")) prefix(o);
  return 0;
}

}  // namespace
}  // namespace toccata

int main(int argc, char** argv) { return toccata::bench(argc, argv); }
