// `toccata simulate speculative --real`: one model drafts, the other verifies, and each decision is shown.
#include <algorithm>
#include <cstdio>

#include "base/rng.h"
#include "interrupt.h"
#include "loaded_model.h"
#include "output.h"
#include "sim/speculative.h"
#include "simulate.h"
#include "spec/rejection.h"
#include "text/tokenizer/same_vocabulary.h"
#include "text/tokenizer/utf8_runs.h"

namespace toccata::cli {
namespace {

// Two models that continue one text.
class Pair {
 public:
  Pair(LoadedModel& target, LoadedModel& drafter, const SamplingParams& params, std::vector<int32_t> prompt)
      : target_(target),
        target_session_(*target.runner, *target.pool),
        draft_session_(*drafter.runner, *drafter.pool),
        vocab_(std::min(target.tokenizer->vocab_size(), drafter.tokenizer->vocab_size())),
        sampler_(params, vocab_),
        text_(std::move(prompt)),
        prompt_(text_.size()) {}

  // Drafts at most `most` tokens, verifies them, prints both and appends what comes of it.
  Status round(int64_t most) {
    draft_.clear();
    if (Status s = draft(most); !s) return s;
    std::vector<std::string> names;
    for (const Drafted& d : draft_) names.push_back(name(d.token));
    if (Status s = write_stdout(names.empty() ? "" : sim::draft_line(names)); !s) return s;
    if (Status s = read_rows(); !s) return s;
    return verify();
  }

  int64_t size() const { return std::ssize(text_); }
  int64_t answered() const { return std::ssize(text_) - static_cast<int64_t>(prompt_); }
  bool ended() const { return target_.tokenizer->is_end(text_.back()); }
  std::string summary() const {
    std::string answer = target_.tokenizer->decode(std::span(text_).subspan(prompt_), true);
    return sim::summary_text(drafted_, kept_, one_line(answer));
  }

 private:
  struct Drafted {
    int32_t token;
    spec::Distribution q;
  };

  std::string name(int32_t token) const { return to_valid_utf8(std::string(target_.tokenizer->token_bytes(token))); }
  uint64_t seed() const { return sampler_.params().seed; }
  spec::Distribution distribution(std::span<const float> logits, std::span<const int32_t> history) {
    return spec::Distribution::of(sampler_, logits.first(static_cast<size_t>(vocab_)), history, std::ssize(history),
                                  scratch_);
  }

  Status draft(int64_t most) {
    std::vector<int32_t> text = text_;
    // What the last round drafted and the target did not keep is forgotten.
    const auto known = draft_session_.tokens();
    const auto same = std::mismatch(known.begin(), known.end(), text.begin(), text.end()).first - known.begin();
    draft_session_.truncate(std::min<int64_t>(same, std::ssize(text) - 1));
    for (int64_t i = 0; i < most; ++i) {
      const auto fresh = std::span(text).subspan(static_cast<size_t>(draft_session_.length()));
      if (Status s = draft_session_.append(fresh); !s) return s;
      spec::Distribution q = distribution(draft_session_.logits(), text);
      const int32_t token = q.draw(rng::uniform(seed(), text.size(), rng::Purpose::kDraft));
      draft_.push_back({token, std::move(q)});
      text.push_back(token);
    }
    return {};
  }

  // The target's logits behind the text and behind each drafted token.
  Status read_rows() {
    std::vector<int32_t> fresh(text_.begin() + static_cast<std::ptrdiff_t>(target_session_.length()), text_.end());
    const int64_t from = std::ssize(fresh) - 1;
    for (const Drafted& d : draft_) fresh.push_back(d.token);
    rows_.clear();
    return target_session_.append_with_logits(
        fresh, from, 0, [this](int64_t, std::span<const float> row) { rows_.emplace_back(row.begin(), row.end()); });
  }

  Status verify() {
    std::vector<spec::DraftNode> nodes;
    for (const Drafted& d : draft_) nodes.push_back({{d.token, &d.q}, static_cast<int>(nodes.size()) - 1});
    std::vector<int32_t> history = text_;
    std::vector<double> p(draft_.size());  // of each token that is decided
    const auto target = [&](int node) {
      if (node >= 0) history.push_back(draft_[static_cast<size_t>(node)].token);
      const auto next = static_cast<size_t>(node + 1);
      spec::Distribution d = distribution(rows_[next], history);
      if (next < draft_.size()) p[next] = d[draft_[next].token];
      return d;
    };
    std::vector<int> kept;
    const int32_t last = spec::verify_draft(nodes, target, seed(), std::ssize(text_), kept);
    return show(p, kept.size(), last);
  }

  Status show(std::span<const double> p, size_t kept, int32_t last) {
    std::string lines;
    const auto detail = [&](size_t i) {
      const double q = draft_[i].q[draft_[i].token];
      char text[96];
      std::snprintf(text, sizeof text, "Prob: %.2f, p %.4f, q %.4f", std::min(1.0, p[i] / q), p[i], q);
      return std::string(text);
    };
    drafted_ += std::ssize(draft_);
    bool over = false;
    for (size_t i = 0; i < kept && !over; ++i) {
      lines += sim::kept_line(name(draft_[i].token), detail(i));
      text_.push_back(draft_[i].token);
      ++kept_;
      over = ended();
    }
    if (!over) {
      lines += kept < draft_.size()
                   ? sim::rejected_line(name(draft_[kept].token), detail(kept)) + sim::correction_line(name(last))
                   : "➕ Target model adds token: " + sim::quote(name(last)) + "\n";
      text_.push_back(last);
    }
    target_session_.truncate(std::ssize(text_) - 1);
    return write_stdout(lines);
  }

  LoadedModel& target_;
  Session target_session_, draft_session_;
  const int32_t vocab_;  // what both have; one table may be longer by padding
  const Sampler sampler_;
  SamplerScratch scratch_;
  std::vector<int32_t> text_;
  const size_t prompt_;
  std::vector<Drafted> draft_;
  std::vector<std::vector<float>> rows_;
  int64_t drafted_ = 0, kept_ = 0;
};

Result<std::unique_ptr<LoadedModel>> load(const ModelOptions& options, const std::string& path, const RealOptions& o,
                                          int64_t context) {
  ModelOptions m = options;
  m.path = path;
  LoadNeeds needs;
  needs.context = context;
  needs.logit_rows = o.drafted + 1;
  needs.most_rows = std::max<int64_t>(options.chunk, o.drafted + 1);
  return load_model(m, needs);
}

}  // namespace

Status simulate_real(const RealOptions& o) {
  constexpr int64_t kMostPrompt = 8192;
  const Result<std::unique_ptr<LoadedModel>> words = load_text_side(o.model.path);
  if (!words) return tl::unexpected(words.error());
  const Result<std::unique_ptr<LoadedModel>> draft_words = load_text_side(o.draft);
  if (!draft_words) return tl::unexpected(draft_words.error());
  const Tokenizer& tokenizer = *(*words)->tokenizer;
  if (Status s = check_same_vocabulary(tokenizer, o.model.path, *(*draft_words)->tokenizer, o.draft); !s) return s;
  const Result<SamplingParams> params = resolve_sampling(o.sampling, tokenizer.vocab_size());
  if (!params) return tl::unexpected(params.error());
  std::vector<int32_t> prompt = tokenizer.encode(o.prompt, {.parse_special = false, .add_special = true});
  if (prompt.empty() || std::ssize(prompt) > kMostPrompt) {
    return fail(ErrorCode::kInvalidArgument, "a prompt of 1 to " + std::to_string(kMostPrompt) +
                                                 " tokens is needed, not " + std::to_string(prompt.size()));
  }
  const int64_t context = std::ssize(prompt) + o.tokens + o.drafted + 1;
  const Result<std::unique_ptr<LoadedModel>> target = load(o.model, o.model.path, o, context);
  if (!target) return tl::unexpected(target.error());
  const Result<std::unique_ptr<LoadedModel>> drafter = load(o.model, o.draft, o, context);
  if (!drafter) return tl::unexpected(drafter.error());

  if (Status s = write_stdout(sim::kLessonHead); !s) return s;
  Pair pair(**target, **drafter, *params, std::move(prompt));
  while (pair.answered() < o.tokens && !interrupted()) {
    // One token fewer than what is missing: the target adds one.
    const int64_t missing = o.tokens - pair.answered();
    if (Status s = pair.round(std::min(o.drafted, missing - 1)); !s) return s;
    if (pair.ended()) break;
  }
  return write_stdout(pair.summary());
}

}  // namespace toccata::cli
