// Promise 1 for speculation: tokens, texts and log-probabilities are the same bits whoever drafts, however well, on a
// model that notices every stale or misplaced key and on real ones. Answers are compared with those of each request
// alone without speculation.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "engine/load_draft.h"
#include "support/engine_rig.h"
#include "support/fake_draft.h"
#include "support/tiny_model.h"

namespace toccata {
namespace {

using test::Answer;
using test::fake_draft;
using test::FakeRunner;
using test::Rig;

constexpr int32_t kVocab = 48;
constexpr float kHabit = 5.0f;

// Knows all answers; `wrong` of 100 tokens are random ones. 100: an adversary.
class Oracle final : public spec::Drafter {
 public:
  Oracle(std::vector<std::vector<int32_t>> texts, unsigned wrong, unsigned seed)
      : texts_(std::move(texts)), wrong_(wrong), rng_(seed) {}
  void propose(std::span<spec::Job> jobs) override {
    for (spec::Job& job : jobs) {
      job.draft->clear();
      const std::vector<int32_t>& text = texts_[job.id - 1];
      for (int64_t i = 0; i < job.most; ++i) {
        const size_t at = job.text.size() + static_cast<size_t>(i);
        const bool right = rng_() % 100 >= wrong_ && at < text.size();
        job.draft->add(right ? text[at] : static_cast<int32_t>(rng_() % kVocab), 0);
      }
    }
  }
  void finish(uint64_t, std::span<const int32_t>, int64_t, std::string_view) override { ++finished; }
  int finished = 0;

 private:
  std::vector<std::vector<int32_t>> texts_;
  const unsigned wrong_;
  std::mt19937 rng_;
};

Request spec_request(std::mt19937& rng, int longest_answer) {
  Request r = test::random_request(rng, 120, longest_answer);
  if (rng() % 3 == 0) {  // a prompt that repeats itself
    for (size_t i = 0, n = r.prompt.size(); i < n && r.prompt.size() < 150; ++i) r.prompt.push_back(r.prompt[i]);
  }
  constexpr float kTemperatures[] = {0.0f, 0.7f, 1.2f};
  r.sampling.temperature = kTemperatures[rng() % 3];
  if (rng() % 4 == 0) r.sampling.min_p = 0.2f;
  if (rng() % 4 == 0) r.sampling.top_k = 0;
  if (rng() % 4 == 0) r.sampling.logit_bias = {{static_cast<int32_t>(rng() % kVocab), 2.5f}, {5, -INFINITY}};
  if (rng() % 5 == 0) r.sampling.frequency_penalty = 0.4f;
  if (rng() % 5 == 0) r.sampling.presence_penalty = 0.4f;
  if (rng() % 5 == 0) r.sampling.penalty_last_n = -1;
  return r;
}

// Some requests are several answers to one prompt, some continue an earlier answer.
std::vector<Request> spec_requests(std::mt19937& rng, size_t n) {
  std::vector<Request> all;
  while (all.size() < n) {
    all.push_back(spec_request(rng, 70));
    if (rng() % 4 != 0) continue;
    Request again = all.back();
    ++again.sampling.seed;
    all.push_back(again);
  }
  return all;
}

std::shared_ptr<Answer> plain(const Request& request, int64_t context) {
  Rig rig(200, {.max_sequences = 1, .chunk_size = 512}, false, context);
  rig.runner->habit = kHabit;
  auto answer = std::make_shared<Answer>();
  rig.core->add(1, request, answer, rig.core->now());
  rig.finish_all();
  return answer;
}

std::vector<int32_t> text_of(const Request& r, const Answer& a) {
  std::vector<int32_t> text = r.prompt;
  for (const TokenOutput& t : a.tokens) text.push_back(t.token);
  return text;
}

struct Totals {
  uint64_t preemptions = 0, hits = 0, drafts = 0, drafted = 0, accepted = 0;
};

enum class Who { kNgram, kSuffix, kShared, kModel, kAlike, kAll, kOracle, kMixed, kAdversary, kAuto };

bool has_model(Who who) { return who == Who::kModel || who == Who::kAlike || who == Who::kAll; }

void put_drafters(engine::Parts& parts, Who who, const std::vector<std::vector<int32_t>>& texts, unsigned seed) {
  parts.drafters = spec::text_drafters(who == Who::kShared);
  const unsigned wrong = who == Who::kOracle ? 0 : who == Who::kAdversary ? 100 : 25;
  if (has_model(who)) {
    // The better one with few blocks, so that requests lose theirs.
    parts.drafters.model = fake_draft(who == Who::kModel ? kHabit - 1.5f : kHabit, seed % 2 == 0 ? 7 : 60, 8);
  }
  if (who >= Who::kOracle) parts.drafters.ngram = std::make_unique<Oracle>(texts, wrong, seed);
  parts.speculation.method = who == Who::kAuto || who == Who::kAll        ? SpecMethod::kAuto
                             : has_model(who)                             ? SpecMethod::kModel
                             : who == Who::kSuffix || who == Who::kShared ? SpecMethod::kSuffix
                                                                          : SpecMethod::kNgram;
}

sched::Options random_options(std::mt19937& rng) {
  sched::Options o;
  o.max_sequences = 1 + static_cast<int64_t>(rng() % 8);
  o.max_draft_rows = 1 + static_cast<int64_t>(rng() % 40);
  o.chunked = rng() % 5 != 0;
  o.chunk_size = rng() % 3 == 0 ? 0 : 1 + static_cast<int64_t>(rng() % 100);
  o.ageing_seconds = 0.05;
  return o;
}

void check_report(const Answer& a) {
  const RequestReport& r = a.report;
  EXPECT_EQ(r.generated_tokens, std::ssize(a.tokens));
  EXPECT_LE(r.accepted_tokens, r.drafted_tokens);
  EXPECT_LE(r.drafts, r.drafted_tokens);
  EXPECT_LE(r.accepted_tokens, r.generated_tokens);
}

// Requests arrive at random steps, some are cancelled; each answer must be the one of the request alone.
void one_case(Who who, unsigned seed, Totals& totals) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 rng(seed);
  const int64_t blocks = 6 + static_cast<int64_t>(rng() % 4 == 0 ? 40 : rng() % 4);
  const int64_t context = blocks * kernels::kKvBlock;
  std::vector<Request> requests = spec_requests(rng, 10);
  std::vector<std::shared_ptr<Answer>> want;
  std::vector<std::vector<int32_t>> texts;
  std::erase_if(requests, [&](const Request& r) { return std::ssize(r.prompt) >= context; });
  for (Request& r : requests) {
    want.push_back(plain(r, context));
    texts.push_back(text_of(r, *want.back()));
    if (rng() % 8 == 0) r.speculative = SpeculationParams{};  // off
    if (rng() % 4 == 0) r.speculative = SpeculationParams{SpecMethod::kSuffix, static_cast<int32_t>(rng() % 33)};
  }
  const engine::ModelDrafter* drafter = nullptr;
  Rig rig(blocks, random_options(rng), rng() % 6 != 0, context, [&](engine::Parts& parts) {
    put_drafters(parts, who, texts, seed);
    const bool automatic = who == Who::kAuto || (has_model(who) && rng() % 2 == 0);
    parts.speculation.num_tokens = automatic ? 0 : 1 + static_cast<int32_t>(rng() % 9);
    drafter = static_cast<const engine::ModelDrafter*>(parts.drafters.model.get());
  });
  rig.runner->habit = kHabit;
  std::vector<std::shared_ptr<Answer>> got;
  std::vector<bool> cut(requests.size(), false);
  for (int step = 0; step < 400 || !rig.core->idle(); ++step) {
    ASSERT_LT(step, 20000);
    while (got.size() < requests.size() && rng() % 3 == 0) {
      got.push_back(std::make_shared<Answer>());
      rig.core->add(got.size(), requests[got.size() - 1], got.back(), rig.core->now());
    }
    if (rng() % 60 == 0 && !got.empty()) {
      const size_t victim = rng() % got.size();
      rig.core->cancel(victim + 1);
      cut[victim] = got[victim]->reason == FinishReason::kCancelled;
    }
    rig.core->step();
    const std::string broken = rig.core->check_invariants();
    ASSERT_EQ(broken, "") << "step " << step;
    if (drafter) {
      ASSERT_EQ(drafter->check(), "") << "step " << step;
    }
  }
  EngineStats s;
  rig.core->fill(s);
  uint64_t generated = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    test::expect_same(*got[i], *want[i], "request " + std::to_string(i + 1), cut[i]);
    if (testing::Test::HasFatalFailure()) return;
    check_report(*got[i]);
    generated += got[i]->tokens.size();
  }
  EXPECT_EQ(s.generated_tokens, generated);
  EXPECT_EQ(s.kv_blocks_used, 0);
  totals.preemptions += s.preemptions;
  totals.hits += s.prefix_hits;
  totals.drafts += s.speculation.drafts;
  totals.drafted += s.speculation.draft_tokens;
  totals.accepted += s.speculation.accepted_tokens;
}

unsigned rounds(unsigned standard) {
  const char* set = std::getenv("TOCCATA_FUZZ_ROUNDS");
  return set ? static_cast<unsigned>(std::strtoul(set, nullptr, 10)) : standard;
}

class Speculation : public testing::TestWithParam<std::tuple<const char*, Who>> {};

TEST_P(Speculation, ChangesNoBit) {
  const Who who = std::get<1>(GetParam());
  Totals t;
  for (unsigned seed = 0; seed < rounds(60); ++seed) {
    one_case(who, seed, t);
    if (HasFatalFailure()) return;
  }
  // Else the runs do not test what they are for.
  EXPECT_GT(t.preemptions, 20u);
  EXPECT_GT(t.hits, 100u);
  EXPECT_GT(t.drafted, 1000u);
  if (who == Who::kOracle) {
    EXPECT_GT(t.accepted * 10, t.drafted * 6);  // some requests draft otherwise
  } else if (who != Who::kAdversary) {
    EXPECT_GT(t.accepted * 10, t.drafted);
  }
  EXPECT_LT(t.accepted, t.drafted);
}

INSTANTIATE_TEST_SUITE_P(Drafters, Speculation,
                         testing::Values(std::tuple{"ngram", Who::kNgram}, std::tuple{"suffix", Who::kSuffix},
                                         std::tuple{"shared", Who::kShared}, std::tuple{"model", Who::kModel},
                                         std::tuple{"alike", Who::kAlike}, std::tuple{"all", Who::kAll},
                                         std::tuple{"oracle", Who::kOracle}, std::tuple{"mixed", Who::kMixed},
                                         std::tuple{"adversary", Who::kAdversary}, std::tuple{"automatic", Who::kAuto}),
                         [](const auto& tested) { return std::string(std::get<0>(tested.param)); });

Request endless(std::mt19937& rng, float temperature) {
  Request r = spec_request(rng, 60);
  r.sampling.temperature = temperature;
  r.kv.reset();
  r.stop.clear();
  r.ignore_eos = true;
  r.max_tokens = 50;
  return r;
}

// With stale or missing keys, other noise or other rules its drafts would be wrong.
TEST(SpeculationModelDrafts, AModelThatIsTheTargetIsAlwaysRight) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 rng(seed);
    const int64_t blocks = seed % 2 == 0 ? 9 : 60;
    engine::ModelDrafter* drafter = nullptr;
    Rig rig(blocks, random_options(rng), true, 0, [&](engine::Parts& parts) {
      auto draft = fake_draft(kHabit, blocks, 8);
      drafter = draft.get();
      parts.drafters.model = std::move(draft);
      parts.speculation = {SpecMethod::kModel, 5};
    });
    rig.runner->habit = kHabit;
    for (size_t i = 1; i <= 12; ++i) {
      rig.core->add(i, endless(rng, i % 2 == 0 ? 1.0f : 0.0f), std::make_shared<Answer>(), rig.core->now());
      rig.core->step();
    }
    rig.finish_all();
    EngineStats s;
    rig.core->fill(s);
    EXPECT_GT(s.speculation.draft_tokens, 50u);
    EXPECT_EQ(s.speculation.accepted_tokens, s.speculation.draft_tokens) << "seed " << seed;
    EXPECT_EQ(drafter->check(), "");
  }
}

// Its texts are read in pieces between the steps of others, and a conversation's next turn finds what was read.
TEST(SpeculationModelDrafts, ReadsLongTextsInPiecesAndOnce) {
  test::FakeRunner* draft = nullptr;
  Rig rig(200, {.max_sequences = 4, .max_draft_rows = 16}, true, 0, [&](engine::Parts& parts) {
    parts.drafters.model = fake_draft(kHabit, 200, 8, &draft);
    parts.speculation = {SpecMethod::kModel, 4};
  });
  rig.runner->habit = kHabit;
  int64_t rows = 0, longest = 0;
  draft->before_forward = [&](const model::Step& step) -> Status {
    rows += step.rows();
    longest = std::max(longest, step.rows());
    return {};
  };
  std::mt19937 rng(4);
  Request r = endless(rng, 0.0f);
  r.prompt.assign(900, 3);
  r.cache_salt = "a";
  const auto read = [&](uint64_t id) {
    rows = 0;
    rig.core->add(id, r, std::make_shared<Answer>(), rig.core->now());
    rig.finish_all();
    return rows;
  };
  EXPECT_GT(read(1), 900);
  EXPECT_LE(longest, 28);
  EXPECT_LT(read(2), 200);
  r.cache_salt = "b";
  EXPECT_GT(read(3), 900);
}

TEST(SpeculationModelDrafts, AFailureOfTheModelCostsDraftsAlone) {
  std::mt19937 rng(9);
  const Request r = endless(rng, 1.0f);
  const auto want = plain(r, 0);
  test::FakeRunner* draft = nullptr;
  Rig rig(40, {.max_sequences = 2, .max_draft_rows = 16}, true, 0, [&](engine::Parts& parts) {
    parts.drafters.model = fake_draft(kHabit, 40, 2, &draft);
    parts.speculation = {SpecMethod::kModel, 4};
  });
  rig.runner->habit = kHabit;
  int calls = 0;
  draft->before_forward = [&calls](const model::Step&) -> Status {
    if (++calls % 3 == 0) return fail(ErrorCode::kResourceExhausted, "no");
    return {};
  };
  auto got = std::make_shared<Answer>();
  rig.core->add(1, r, got, rig.core->now());
  rig.finish_all();
  test::expect_same(*got, *want, "with a model that fails");
  EXPECT_GT(calls, 20);
}

// One after the other: what the prefix cache holds and gives at each point is what it would without speculation.
TEST(SpeculationTraces, RejectedTokensLeaveNone) {
  constexpr int64_t kContext = 14 * kernels::kKvBlock;
  for (const Who who : {Who::kMixed, Who::kAdversary, Who::kOracle}) {
    std::mt19937 rng(5);
    std::vector<Request> requests = spec_requests(rng, 40);
    std::vector<std::vector<int32_t>> texts;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (i % 3 == 2) {  // the next turn of a conversation
        requests[i].prompt = texts.back();
        requests[i].prompt.push_back(7);
        requests[i].cache_salt = requests[i - 1].cache_salt;
      }
      texts.push_back(text_of(requests[i], *plain(requests[i], kContext)));
    }
    const auto run = [&](bool speculate) {
      Rig rig(400, {.max_sequences = 1, .max_draft_rows = 32, .chunk_size = 512}, true, kContext,
              [&](engine::Parts& parts) {
                if (speculate) put_drafters(parts, who, texts, 3);
                parts.speculation.num_tokens = 9;
              });
      rig.runner->habit = kHabit;
      std::vector<int64_t> seen;
      for (size_t i = 0; i < requests.size(); ++i) {
        auto answer = std::make_shared<Answer>();
        rig.core->add(i + 1, requests[i], answer, rig.core->now());
        rig.finish_all();
        EngineStats s;
        rig.core->fill(s);
        seen.insert(seen.end(), {answer->report.cached_tokens, static_cast<int64_t>(answer->report.cache_miss),
                                 s.kv_blocks_cached, static_cast<int64_t>(s.prefix_hits)});
      }
      return seen;
    };
    EXPECT_EQ(run(true), run(false)) << static_cast<int>(who);
  }
}

TEST(SpeculationTraces, DraftersHearOfEveryEnd) {
  auto oracle = std::make_unique<Oracle>(std::vector<std::vector<int32_t>>(9), 100, 1);
  Oracle& watched = *oracle;
  Rig rig(40, {.max_sequences = 2, .max_draft_rows = 8}, true, 0, [&](engine::Parts& parts) {
    parts.drafters.ngram = std::move(oracle);
    parts.speculation = {SpecMethod::kNgram, 4};
  });
  std::mt19937 rng(2);
  for (size_t i = 1; i <= 9; ++i) rig.core->add(i, spec_request(rng, 30), std::make_shared<Answer>(), rig.core->now());
  rig.core->step();
  rig.core->step();
  rig.core->cancel(9);
  rig.core->cancel(1);
  rig.finish_all();
  EXPECT_EQ(watched.finished, 9);
}

TEST(SpeculationFaults, AMethodThatIsNotThereIsRefused) {
  Rig rig(40, {.max_sequences = 2, .max_draft_rows = 8});
  Request r;
  r.prompt = {1, 2, 3};
  r.speculative = SpeculationParams{SpecMethod::kSuffix, 4};
  ASSERT_FALSE(rig.core->check(r));
  EXPECT_NE(rig.core->check(r).error().message.find("suffix"), std::string::npos);
  r.speculative = SpeculationParams{SpecMethod::kOff, -1};
  ASSERT_FALSE(rig.core->check(r));
  EXPECT_NE(rig.core->check(r).error().message.find("num_tokens"), std::string::npos);
  r.speculative = SpeculationParams{};
  EXPECT_TRUE(rig.core->check(r));
}

// The same on models with real arithmetic, where a verified row shares its products with others.
const test::TinyModel& tiny_model() {
  static const test::TinyModel model([] {
    test::TinyOptions o;
    o.types = {DType::kQ4_0, DType::kQ8_0};
    o.layers = 2;
    o.dim = 64;
    o.ff = 96;
    o.heads = 2;
    o.kv_heads = 1;
    o.head_dim = 32;
    return o;
  }());
  return model;
}

// The same weights beside a cache of another type: nearly always right.
std::unique_ptr<spec::PacedDrafter> tiny_draft(int64_t sequences) {
  model::RunnerOptions run;
  run.threads = 1;
  run.max_rows = 64;
  run.max_logit_rows = sequences;
  engine::DraftModel model;
  model.runner = std::move(*model::ModelRunner::load(*gguf::File::open(tiny_model().path()), run));
  model.vocab = 330;
  return std::move(*engine::start_draft(std::move(model), 24, sequences));
}

std::unique_ptr<engine::Core> tiny_core(DType k_type, DType v_type, int64_t sequences, SpecMethod method, int threads) {
  engine::Parts parts;
  parts.scheduler.max_sequences = sequences;
  parts.scheduler.max_draft_rows = 24;
  parts.scheduler.max_rows = sequences + 24 + 512;
  model::RunnerOptions run;
  run.threads = threads;
  run.max_rows = parts.scheduler.max_rows;
  run.max_logit_rows = sequences + 24 + parts.scheduler.max_prompt_logit_rows;
  run.k_type = k_type;
  run.v_type = v_type;
  parts.runner = std::move(*model::ModelRunner::load(*gguf::File::open(tiny_model().path()), run));
  parts.tokenizer = std::make_unique<test::FakeTokenizer>(330);
  parts.pool = std::make_unique<kv::Pool>(*kv::Pool::create(parts.runner->kv_layout(), 24));
  parts.info = {"tiny", "llama", 24 * 32, 330};
  parts.drafters = spec::text_drafters(true);
  if (method == SpecMethod::kModel || (method == SpecMethod::kAuto && threads > 1)) {
    parts.drafters.model = tiny_draft(sequences);
  }
  parts.speculation = {method, method == SpecMethod::kAuto ? 0 : 7};
  return std::move(*engine::Core::create(std::move(parts)));
}

std::vector<std::shared_ptr<Answer>> answers(engine::Core& core, const std::vector<Request>& requests, bool at_once) {
  std::vector<std::shared_ptr<Answer>> all;
  for (size_t i = 0; i < requests.size(); ++i) {
    all.push_back(std::make_shared<Answer>());
    core.add(i + 1, requests[i], all.back(), core.now());
    while (!at_once && !core.idle()) core.step();
  }
  while (!core.idle()) core.step();
  return all;
}

TEST(SpeculationModel, ChangesNoBit) {
  constexpr DType kTypes[][2] = {{DType::kF16, DType::kF16},
                                 {DType::kBF16, DType::kF32},
                                 {DType::kQ8_0, DType::kF16},
                                 {DType::kQ8_0, DType::kQ8_0},
                                 {DType::kQ4_0, DType::kQ4_0}};
  std::mt19937 rng(1);
  uint64_t accepted = 0, preemptions = 0;
  for (const auto& [k_type, v_type] : kTypes) {
    std::vector<Request> requests = spec_requests(rng, rounds(25));
    for (size_t i = 0; i < requests.size(); ++i) {
      if (i % 2 == 0) requests[i].sampling.top_k = 2;  // so that texts repeat themselves
      requests[i].sampling.logprobs = static_cast<int>(i % 4) - 1;
    }
    const auto want = answers(*tiny_core(k_type, v_type, 1, SpecMethod::kOff, 1), requests, false);
    for (const SpecMethod method : {SpecMethod::kNgram, SpecMethod::kSuffix, SpecMethod::kModel, SpecMethod::kAuto}) {
      const bool alone = method == SpecMethod::kSuffix || method == SpecMethod::kModel;
      auto core = tiny_core(k_type, v_type, 6, method, alone ? 1 : 2);
      const auto got = answers(*core, requests, true);
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_NO_FATAL_FAILURE(test::expect_same(*got[i], *want[i], "request " + std::to_string(i)));
      }
      EngineStats s;
      core->fill(s);
      accepted += s.speculation.accepted_tokens;
      preemptions += s.preemptions;
    }
  }
  EXPECT_GT(accepted, 1000u);
  EXPECT_GT(preemptions, 0u);
}

}  // namespace
}  // namespace toccata
