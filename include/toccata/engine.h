// The engine: many requests on one model, by continuous batching. All functions may be called from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "toccata/request.h"
#include "toccata/speculation.h"
#include "toccata/trace.h"

namespace toccata {

struct EngineOptions {
  std::string model;       // a GGUF file (the first shard of a split one)
  int threads = 0;         // 0: all CPUs of this process
  int64_t context = 0;     // most tokens of one sequence; 0: the model's, as far as the KV pool holds it
  uint64_t kv_memory = 0;  // bytes of the KV pool; 0: a share of the machine's memory
  // f32, f16, bf16, q8_0 or q4_0
  std::string cache_type_k = "f16", cache_type_v = "f16";
  std::vector<int> kv_skip_layers;       // whose cache is f16 all the same
  std::string kv_rotate = "auto";        // Hadamard rotation of cached K and V: auto (q4_0 alone), on or off
  int64_t max_sequences = 32;            // that run at once (vLLM: max_num_seqs)
  int64_t max_waiting = 256;             // requests in the queue; more are refused
  int64_t max_waiting_tokens = 1 << 20;  // prompt tokens in the queue; more are refused
  bool chunked_prefill = true;           // false: a prompt is read in steps of its own while decodes wait
  int64_t chunk_size = 0;                // prefill tokens per step; 0: chosen by the cost model, at most 512
  double itl_target_ms = 0.0;            // for the chosen chunk; 0: about eight plain decode steps
  bool prefix_caching = true;
  std::string draft_model;          // a smaller model of the same vocabulary, for SpecMethod::kModel; "": none
  SpeculationParams speculation;    // of requests that say nothing about it
  bool shared_spec_corpus = false;  // suffix drafts also from earlier answers of the same cache_salt, in bounded memory
  KvPolicy kv;                      // of requests without a policy of their own
  std::shared_ptr<TraceFile> trace;  // of steps and requests, written by the engine's thread; null: none
  std::string attention = "flash";   // or naive, which holds the whole score matrix; for comparison
};

// What speculation did; counters since start. Verified drafts only: what was not verified cost nothing.
struct SpeculationStats {
  uint64_t drafts = 0;  // verifications
  uint64_t draft_tokens = 0, accepted_tokens = 0;
  std::array<uint64_t, SpeculationParams::kMostTokens> accepted_per_position{};
};

// A consistent view for /metrics and gauges; counters since start.
struct EngineStats {
  int64_t running = 0, waiting = 0, waiting_tokens = 0;
  int64_t kv_blocks = 0, kv_blocks_used = 0;     // used: held by requests, not merely cached
  int64_t kv_blocks_cached = 0;                  // not held, but hittable
  uint64_t prefix_queries = 0, prefix_hits = 0;  // prompt tokens looked up, found
  uint64_t preemptions = 0, steps = 0;
  uint64_t kv_evicted_tokens = 0;  // by the policies of requests
  uint64_t kv_bytes_used = 0;      // of the blocks that requests hold
  uint64_t prompt_tokens = 0, generated_tokens = 0;
  int64_t last_step_tokens = 0;
  double last_step_seconds = 0.0, last_step_predicted_seconds = 0.0;
  double step_seconds = 0.0;      // sum over all steps, scheduling to delivery
  double forward_seconds = 0.0;   // of them inside the model
  double drafting_seconds = 0.0;  // of them for drafts of a draft model
  SpeculationStats speculation;
  bool draining = false;
};

// One step of the engine, for a timeline. Times are seconds on a clock that only goes forward.
struct StepRecord {
  uint64_t number = 0;  // counts from 1
  double start = 0.0, seconds = 0.0;
  int64_t decodes = 0, prefill_tokens = 0;
  int64_t drafted_tokens = 0, accepted_tokens = 0;  // verified in this step, and those of them that were right
};

struct RecentSteps {
  double now = 0.0;               // on the same clock
  std::vector<StepRecord> steps;  // oldest first
};

struct ModelInfo {
  std::string name, architecture;
  int64_t context = 0;  // most tokens of one sequence, prompt and answer
  int32_t vocab = 0;
  int64_t bounded_context = 0;  // the same under a KV policy that evicts
  int64_t endless_context = 0;  // the same under one that goes on past the trained context
  KvPolicy kv = {};             // of requests without one
};

class Engine {
 public:
  // Loads the model and starts the engine's thread. Errors name the file or the option.
  static Result<std::unique_ptr<Engine>> start(const EngineOptions& options);
  virtual ~Engine() = default;  // cancels what is left

  // Never blocks on the model. Errors: kInvalidArgument (a parameter, named; nothing was queued), kContextLength is
  // told by prompt size >= context_of(request), kResourceExhausted (the queue is full: try again), kUnavailable while
  // draining. On success the listener's on_finish will be called exactly once.
  virtual Result<RequestId> submit(Request request, std::shared_ptr<RequestListener> listener) = 0;
  // Ends the request within one step, with FinishReason::kCancelled; without effect once it has finished.
  virtual void cancel(RequestId id) = 0;

  virtual const ModelInfo& info() const = 0;
  // Most tokens of this request, prompt and answer: which of info()'s contexts is its own.
  virtual int64_t context_of(const Request& request) const = 0;
  virtual EngineStats stats() const = 0;
  // The steps after that number, as far as they are kept: the latest 1,024.
  virtual RecentSteps steps(uint64_t after) const = 0;
  // Admits no more. Running and waiting requests go on; see stats() for what is left.
  virtual void drain() = 0;
};

}  // namespace toccata
