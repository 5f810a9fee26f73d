// Drafts of a smaller model of the same vocabulary.
//
// Each draft continues the request's own text and is drawn as the request draws: the same rules, and for each position
// the same random numbers (sampling/race.h). So where the two models' distributions agree on the winner of the race,
// the draft is right, at any temperature.
//
// The model has a KV pool of its own. A request's keys follow its text: what was drafted and turned out wrong is
// written over, what the text got meanwhile is read before the next draft. A preempted request keeps them. Blocks that
// are full of text are found again by later requests (kv/prefix_cache.h). When the pool is full, requests that were
// longest without a draft lose their blocks, and a request that gets none does without drafts.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/aligned_buffer.h"
#include "kv/prefix_cache.h"
#include "model/runner.h"
#include "sampling/sampler.h"
#include "sched/cost_model.h"
#include "spec/drafter.h"

namespace toccata::engine {

struct DraftModel {
  std::shared_ptr<model::ModelRunner> runner;  // as many logit rows as there are requests at once
  std::shared_ptr<kv::Pool> pool;              // nobody else takes blocks of it
  int64_t vocab = 0;                           // token ids from 0 on that both models have
};

class ModelDrafter final : public spec::PacedDrafter {
 public:
  static Result<std::unique_ptr<ModelDrafter>> create(DraftModel model);

  void propose(std::span<spec::Job> jobs) override;
  void finish(uint64_t id, std::span<const int32_t> text, int64_t prompt, std::string_view salt) override;
  int64_t unread(const spec::Job& job) override;
  double reading_seconds(int64_t tokens) const override;
  double token_seconds(int64_t requests) const override;

  // Measures what its steps cost. Before the first request.
  void calibrate(int64_t requests);
  std::string check() const;  // for tests: the first broken invariant, "" if there is none

 private:
  struct State {
    State(const Sampler& of, int64_t vocab, std::string_view salt);
    Sampler sampler;
    std::vector<int32_t> tokens;  // whose K and V are in the blocks: text, and behind it what was drafted
    size_t text = 0;              // of them text
    std::vector<kv::BlockId> blocks;
    kv::BlockHash root;
    std::vector<kv::BlockHash> hashes;  // of full blocks of text
    size_t published = 0;               // blocks at the front
    uint64_t round = 0;                 // when it last wanted a draft
    bool foreign = false;               // the text has a token that the model does not know
  };
  struct Going {
    spec::Job* job;
    State* state;
    int64_t most;  // tokens that it has room for
    int64_t row;   // of the logits after its last token
  };

  explicit ModelDrafter(DraftModel model);
  State& follow(const spec::Job& job);
  void attach(State& s, std::span<const int32_t> text);
  void publish(State& s);
  bool reserve(State& s, int64_t tokens);
  bool reclaim();
  void drop(State& s);

  void enter(spec::Job& job);
  void read();
  void draw();
  void leave();
  void feed();
  int64_t add_span(State& s, int64_t count, bool logits);
  bool forward(int64_t logit_rows_before);
  void give_up();

  DraftModel model_;
  kv::PrefixCache cache_;
  sched::CostModel cost_;
  AlignedBuffer logits_;
  std::vector<SamplerScratch> scratch_;  // per thread
  std::unordered_map<uint64_t, State> states_;
  uint64_t round_ = 0;

  // Of the call.
  std::vector<Going> going_;
  std::vector<model::SpanInput> spans_;
  sched::StepShape shape_;
};

}  // namespace toccata::engine
