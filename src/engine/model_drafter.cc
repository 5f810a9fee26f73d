#include "engine/model_drafter.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/check.h"
#include "base/clock.h"
#include "engine/calibrate.h"
#include "engine/draw_rows.h"

namespace toccata::engine {
namespace {

constexpr int64_t kBlock = kv::PrefixCache::kBlock;
// The model's own probability of a drafted token from which on it has the grade 1, 2, ...
constexpr float kSure[spec::kNoGrade - 1] = {0.2f, 0.35f, 0.5f, 0.65f, 0.8f, 0.9f, 0.97f};

int64_t blocks_for(int64_t tokens) { return (tokens + kBlock - 1) / kBlock; }

int grade_of(float logprob) {
  const float p = std::exp(logprob);
  return static_cast<int>(std::upper_bound(std::begin(kSure), std::end(kSure), p) - std::begin(kSure));
}

SamplingParams with_logprob(SamplingParams params) {
  params.logprobs = 0;
  return params;
}

std::span<const int32_t> block_of(std::span<const int32_t> tokens, size_t block) {
  return tokens.subspan(block * static_cast<size_t>(kBlock), static_cast<size_t>(kBlock));
}

}  // namespace

ModelDrafter::State::State(const Sampler& of, int64_t vocab, std::string_view salt)
    : sampler(with_logprob(of.params()), static_cast<int32_t>(vocab)), root(kv::root_hash(salt)) {}

ModelDrafter::ModelDrafter(DraftModel model) : model_(std::move(model)), cache_(*model_.pool) {}

Result<std::unique_ptr<ModelDrafter>> ModelDrafter::create(DraftModel model) {
  std::unique_ptr<ModelDrafter> d(new ModelDrafter(std::move(model)));
  const model::ModelRunner& runner = *d->model_.runner;
  TOCCATA_CHECK(d->model_.vocab <= runner.config().vocab);
  const size_t rows = static_cast<size_t>(runner.options().max_logit_rows);
  Result<AlignedBuffer> logits = AlignedBuffer::allocate(rows * runner.logit_stride() * sizeof(float));
  if (!logits) return tl::unexpected(logits.error());
  d->logits_ = std::move(*logits);
  ThreadPool* threads = d->model_.runner->threads();
  d->scratch_.resize(threads ? static_cast<size_t>(threads->size()) : 1);
  return d;
}

void ModelDrafter::calibrate(int64_t requests) {
  CalibrationLimits limits;
  limits.context = model_.pool->capacity() * kBlock;
  limits.sequences = std::min(requests, model_.runner->options().max_logit_rows);
  limits.seconds = 0.25;
  engine::calibrate(*model_.runner, *model_.pool, logits_.as<float>(), limits,
                    [this](const sched::StepShape& shape, double seconds) { cost_.observe(shape, seconds); });
}

double ModelDrafter::reading_seconds(int64_t tokens) const {
  sched::StepShape shape;
  shape.add_prefill(0, tokens);
  return cost_.predict(shape);
}

double ModelDrafter::token_seconds(int64_t requests) const {
  sched::StepShape shape;
  for (int64_t i = 0; i < requests; ++i) shape.add_decode(0);
  return cost_.predict(shape);
}

// The request's state, rid of what turned out not to be its text. The last token of the text is always read anew: its
// logits are wanted.
ModelDrafter::State& ModelDrafter::follow(const spec::Job& job) {
  auto found = states_.find(job.id);
  if (found == states_.end()) {
    found = states_.emplace(job.id, State(*job.sampler, model_.vocab, job.salt)).first;
  }
  State& s = found->second;
  const size_t end = std::min(s.tokens.size(), job.text.size() - 1);
  while (s.text < end && s.tokens[s.text] == job.text[s.text]) ++s.text;
  s.tokens.resize(s.text);
  if (s.blocks.empty()) attach(s, job.text);
  return s;
}

void ModelDrafter::attach(State& s, std::span<const int32_t> text) {
  const size_t most = (text.size() - 1) / static_cast<size_t>(kBlock);
  for (size_t i = 0; i < most; ++i) {
    const kv::BlockHash before = i > 0 ? s.hashes[i - 1] : s.root;
    if (s.hashes.size() == i) s.hashes.push_back(kv::chain_hash(before, block_of(text, i)));
    const kv::BlockId block = cache_.find(s.hashes[i], before, block_of(text, i));
    if (block < 0) break;
    s.blocks.push_back(block);
  }
  s.published = s.blocks.size();
  s.text = s.published * static_cast<size_t>(kBlock);
  s.tokens.assign(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(s.text));
}

// All but the last token of the text may be published: the last one is going to be read again.
void ModelDrafter::publish(State& s) {
  for (; static_cast<int64_t>(s.published + 1) * kBlock < static_cast<int64_t>(s.text); ++s.published) {
    const size_t i = s.published;
    const kv::BlockHash before = i > 0 ? s.hashes[i - 1] : s.root;
    if (s.hashes.size() == i) s.hashes.push_back(kv::chain_hash(before, block_of(s.tokens, i)));
    s.blocks[i] = cache_.publish(s.blocks[i], s.hashes[i], before, block_of(s.tokens, i));
  }
}

bool ModelDrafter::reserve(State& s, int64_t tokens) {
  while (std::ssize(s.blocks) < blocks_for(tokens)) {
    const kv::BlockId block = cache_.allocate();
    if (block >= 0) {
      s.blocks.push_back(block);
    } else if (!reclaim()) {
      return false;
    }
  }
  return true;
}

bool ModelDrafter::reclaim() {
  State* oldest = nullptr;
  for (auto& [id, s] : states_) {
    if (!s.blocks.empty() && s.round < round_ && (!oldest || s.round < oldest->round)) oldest = &s;
  }
  if (oldest) drop(*oldest);
  return oldest != nullptr;
}

void ModelDrafter::drop(State& s) {
  for (; !s.blocks.empty(); s.blocks.pop_back()) cache_.release(s.blocks.back());
  s.tokens.clear();
  s.text = s.published = 0;
}

int64_t ModelDrafter::unread(const spec::Job& job) { return std::ssize(job.text) - std::ssize(follow(job).tokens); }

void ModelDrafter::finish(uint64_t id, std::span<const int32_t>, int64_t, std::string_view) {
  const auto found = states_.find(id);
  if (found == states_.end()) return;
  drop(found->second);
  states_.erase(found);
}

void ModelDrafter::propose(std::span<spec::Job> jobs) {
  ++round_;
  going_.clear();
  for (spec::Job& job : jobs) {
    job.draft->clear();
    follow(job).round = round_;  // so that none of them loses its blocks to another one
  }
  for (spec::Job& job : jobs) enter(job);
  read();
  while (!going_.empty()) {
    draw();
    leave();
    feed();
  }
}

// Takes the job if there is room for it in the context, the pool and the step.
void ModelDrafter::enter(spec::Job& job) {
  State& s = states_.at(job.id);
  const int64_t known = std::ssize(job.text);
  const int64_t context = model_.runner->config().context_length;
  // The last drafted token is not fed.
  const int64_t most = std::min(job.most, context - known + 1);
  if (most < 1 || s.foreign || std::ssize(going_) >= model_.runner->options().max_logit_rows) return;
  const int64_t reads = std::min<int64_t>(known - std::ssize(s.tokens), std::max<int64_t>(job.most_read, 1));
  const auto unknown = [this](int32_t t) { return t >= model_.runner->config().vocab; };
  const auto next = job.text.subspan(s.tokens.size(), static_cast<size_t>(reads));
  s.foreign = std::any_of(next.begin(), next.end(), unknown);
  if (s.foreign || !reserve(s, std::ssize(s.tokens) + reads)) return;
  going_.push_back({&job, &s, most, -1});
}

// Adds the next `count` tokens of the state, which were appended to its tokens, to the step.
int64_t ModelDrafter::add_span(State& s, int64_t count, bool logits) {
  const int64_t first = std::ssize(s.tokens) - count;
  spans_.push_back({s.blocks.data(), first, std::span<const int32_t>(s.tokens).last(static_cast<size_t>(count)),
                    logits ? static_cast<int32_t>(count - 1) : -1});
  return first;
}

// Runs the step that was put together, with its logits behind those of earlier steps. False: the model failed.
bool ModelDrafter::forward(int64_t logit_rows_before) {
  if (spans_.empty()) return true;
  float* logits = logits_.as<float>() + static_cast<size_t>(logit_rows_before) * model_.runner->logit_stride();
  const double begin = monotonic_seconds();
  const Status done = model_.runner->forward({spans_}, *model_.pool, logits);
  if (done) cost_.observe(shape_, monotonic_seconds() - begin);
  spans_.clear();
  shape_ = {};
  if (!done) give_up();
  return done.has_value();
}

// Nothing is known of the keys of those that were in the step.
void ModelDrafter::give_up() {
  for (const Going& g : going_) {
    g.job->draft->clear();
    drop(*g.state);
  }
  going_.clear();
}

// What the texts got since they were read, in steps of as many tokens as the model takes. Who has more to read than it
// may drops out.
void ModelDrafter::read() {
  const int64_t most_rows = model_.runner->options().max_rows;
  int64_t rows = 0, logit_rows = 0, done_rows = 0;
  for (Going& g : going_) {
    State& s = *g.state;
    const int64_t unread = std::ssize(g.job->text) - std::ssize(s.tokens);
    int64_t left = std::min(unread, std::max<int64_t>(g.job->most_read, 1));
    const bool all = left == unread;
    while (left > 0) {
      const int64_t n = std::min(left, most_rows - rows);
      const auto from = g.job->text.begin() + std::ssize(s.tokens);
      s.tokens.insert(s.tokens.end(), from, from + n);
      const bool last = all && n == left;
      const int64_t context = add_span(s, n, last);
      n == 1 ? shape_.add_decode(context) : shape_.add_prefill(context, n);
      if (last) g.row = logit_rows++;
      left -= n;
      if ((rows += n) < most_rows) continue;
      if (!forward(done_rows)) return;
      rows = 0;
      done_rows = logit_rows;
    }
    s.text = s.tokens.size();
  }
  if (!forward(done_rows)) return;
  for (const Going& g : going_) publish(*g.state);
  std::erase_if(going_, [](const Going& g) { return g.row < 0; });
}

void ModelDrafter::draw() {
  const auto draw_one = [this](int64_t i, SamplerScratch& scratch) {
    const Going& g = going_[static_cast<size_t>(i)];
    const float* row = logits_.as<float>() + static_cast<size_t>(g.row) * model_.runner->logit_stride();
    const std::span<const float> logits(row, static_cast<size_t>(model_.vocab));
    const std::vector<int32_t>& text = g.state->tokens;
    const Sampler& sampler = g.state->sampler;
    const Sampled drawn = sampler.sample(logits, text, std::ssize(text), scratch);
    g.job->draft->add(drawn.token, g.job->rejection ? spec::kNoGrade : grade_of(drawn.logprob));
    if (!g.job->rejection) return;
    g.job->draft->drawn_from.push_back(spec::Distribution::of(sampler, logits, text, std::ssize(text), scratch));
  };
  draw_rows(model_.runner->threads(), std::ssize(going_), model_.vocab, scratch_, draw_one);
}

void ModelDrafter::leave() {
  const int64_t going = std::ssize(going_);
  std::erase_if(going_, [&](const Going& g) {
    const spec::Job& job = *g.job;
    return std::ssize(job.draft->tokens) >= g.most || (job.gate && !job.gate->another(job, going)) ||
           !reserve(*g.state, std::ssize(g.state->tokens) + 1);
  });
}

void ModelDrafter::feed() {
  for (size_t i = 0; i < going_.size(); ++i) {
    State& s = *going_[i].state;
    s.tokens.push_back(going_[i].job->draft->tokens.back());
    shape_.add_decode(add_span(s, 1, true));
    going_[i].row = static_cast<int64_t>(i);
  }
  forward(0);
}

std::string ModelDrafter::check() const {
  std::vector<int32_t> holders(static_cast<size_t>(model_.pool->capacity()), 0);
  for (const auto& [id, s] : states_) {
    for (const kv::BlockId b : s.blocks) ++holders[static_cast<size_t>(b)];
    if (blocks_for(std::ssize(s.tokens)) > std::ssize(s.blocks)) return "drafter: tokens without a block";
    if (s.text > s.tokens.size()) return "drafter: more text than tokens";
  }
  return cache_.check(holders);
}

}  // namespace toccata::engine
