#include "run_generate.h"

#include <algorithm>

#include "base/clock.h"
#include "feed.h"
#include "interrupt.h"
#include "sampling/stop.h"

namespace toccata::cli {
namespace {

// Brings the session to `prompt`; false if interrupted. The last token is always evaluated anew: its logits are
// needed.
Result<bool> read_prompt(Session& session, std::span<const int32_t> prompt, int64_t chunk, Generation& g) {
  const auto have = session.tokens();
  const auto common = std::mismatch(have.begin(), have.end(), prompt.begin(), prompt.end() - 1).first - have.begin();
  session.truncate(common);
  g.cached_tokens = common;
  return feed(session, prompt.subspan(static_cast<size_t>(common)), chunk);
}

class Answer {
 public:
  Answer(LoadedModel& model, Session& session, const GenerateOptions& options, const Listener& listener, Generation& g)
      : model_(model),
        session_(session),
        options_(options),
        listener_(listener),
        g_(g),
        decoder_(*model.tokenizer),
        stop_(options.stops) {}

  // True: the answer has ended, g.finish says why.
  bool take(const Sampled& sampled) {
    if (!options_.ignore_end && model_.tokenizer->is_end(sampled.token)) return end(Finish::kStop);
    g_.tokens.push_back(sampled.token);
    if (listener_.token) listener_.token(sampled);
    if (!show(stop_.push(decoder_.push(sampled.token)).text)) return true;
    if (stop_.stopped()) return end(Finish::kStop);
    const int64_t n = static_cast<int64_t>(g_.tokens.size());
    if (n == options_.most_tokens) return end(Finish::kLength);
    if (session_.length() + 1 >= model_.context) return end(Finish::kContextFull);
    return interrupted() && end(Finish::kInterrupted);
  }

  void finish() {
    if (g_.finish == Finish::kOutputFailed || stop_.stopped()) return;
    if (show(stop_.push(decoder_.flush()).text) && !stop_.stopped()) show(stop_.flush());
  }

 private:
  bool end(Finish why) {
    g_.finish = why;
    return true;
  }
  bool show(const std::string& text) {
    g_.text += text;
    if (!text.empty()) g_.output = listener_.text(text);
    if (!g_.output) end(Finish::kOutputFailed);
    return g_.output.has_value();
  }

  LoadedModel& model_;
  Session& session_;
  const GenerateOptions& options_;
  const Listener& listener_;
  Generation& g_;
  StreamDecoder decoder_;
  StopMatcher stop_;
};

}  // namespace

Result<Generation> generate(LoadedModel& model, Session& session, std::span<const int32_t> prompt,
                            const Sampler& sampler, const GenerateOptions& options, const Listener& listener) {
  Generation g;
  const double start = monotonic_seconds();
  g.prompt_tokens = static_cast<int64_t>(prompt.size());
  if (prompt.empty()) return fail(ErrorCode::kInvalidArgument, "the prompt is empty: there is nothing to continue");
  if (g.prompt_tokens >= model.context) {
    return fail(ErrorCode::kInvalidArgument,
                "the prompt does not fit the context: n_prompt = " + std::to_string(g.prompt_tokens) +
                    ", n_ctx = " + std::to_string(model.context) + " (raise it with -c)");
  }
  const Result<bool> complete = read_prompt(session, prompt, options.chunk, g);
  if (!complete) return tl::unexpected(complete.error());
  g.prompt_seconds = monotonic_seconds() - start;
  if (!*complete || options.most_tokens == 0) {
    g.finish = *complete ? Finish::kLength : Finish::kInterrupted;
    return g;
  }
  Answer answer(model, session, options, listener, g);
  SamplerScratch scratch;
  for (double last = start;;) {
    const Sampled sampled = sampler.sample(session.logits(), session.tokens(), session.length(), scratch);
    const double now = monotonic_seconds();
    if (last == start)
      g.first_token_seconds = now - start;
    else
      g.gaps.push_back(now - last);
    last = now;
    if (answer.take(sampled)) break;
    if (const Status s = session.append(std::span(&sampled.token, 1)); !s) return tl::unexpected(s.error());
  }
  answer.finish();
  return g;
}

}  // namespace toccata::cli
