#include "engine/sequence.h"

#include <algorithm>
#include <utility>

namespace toccata::engine {
namespace {

int64_t most_tokens(const Request& r, int64_t context) {
  const int64_t prompt = static_cast<int64_t>(r.prompt.size());
  return r.max_tokens < 0 || r.max_tokens > context - prompt ? context : prompt + r.max_tokens;
}

}  // namespace

Sequence::Sequence(RequestId id_in, Request request_in, std::shared_ptr<RequestListener> listener_in,
                   const Tokenizer& tokenizer, int32_t vocab, int64_t context, const kv::CachePlan& plan_in, double now)
    : id(id_in),
      request(std::move(request_in)),
      listener(std::move(listener_in)),
      prompt_size(static_cast<int64_t>(request.prompt.size())),
      tokens(request.prompt),
      sampler(request.sampling, vocab),
      plan(plan_in),
      root(kv::root_hash(request.cache_salt)),
      tokenizer_(tokenizer),
      most_tokens_(most_tokens(request, context)),
      decoder_(tokenizer),
      stop_(request.stop),
      submitted_(now) {
  report.prompt_tokens = prompt_size;
  if (request.prompt_logprobs >= 0) prompt_scores.resize(static_cast<size_t>(prompt_size - 1));
}

void Sequence::admitted(double now) {
  if (started_) return;
  started_ = true;
  first_step_ = now;
  report.queue_seconds = now - submitted_;
}

void Sequence::deliver_prompt_scores() { listener->on_prompt_logprobs(std::move(prompt_scores)); }

void Sequence::note_time(double now) {
  if (report.generated_tokens == 0 && last_token_ == 0) {
    report.first_token_seconds = now - submitted_;
    report.prefill_seconds = now - first_step_;
  } else {
    report.longest_gap_seconds = std::max(report.longest_gap_seconds, now - last_token_);
  }
  last_token_ = now;
}

Sequence::Taken Sequence::take(std::span<Sampled> drawn, double now) {
  note_time(now);
  Taken taken;
  if (most_more() <= 0) {  // max_tokens = 0: the prompt was all that was wanted
    report.first_token_seconds = 0;
    return {1, true, FinishReason::kLength};
  }
  std::vector<TokenOutput> outputs;
  std::string text;
  for (Sampled& sampled : drawn) {
    ++taken.count;
    const int32_t token = sampled.token;
    taken.ended = !request.ignore_eos && tokenizer_.is_end(token);
    taken.reason = FinishReason::kStop;
    if (taken.ended) break;
    tokens.push_back(token);
    ++report.generated_tokens;
    StopMatcher::Output piece = stop_.push(decoder_.push(token));
    outputs.push_back(std::move(sampled));
    text += piece.text;
    taken.ended = piece.stopped;
    if (taken.ended) break;
    taken.reason = FinishReason::kLength;
    taken.ended = most_more() <= 0;
    if (taken.ended) break;
  }
  if (!outputs.empty()) listener->on_tokens(std::move(outputs), std::move(text));
  return taken;
}

void Sequence::finish(FinishReason reason, double now) {
  if (report.generated_tokens > 0 && !stop_.stopped()) {
    StopMatcher::Output tail = stop_.push(decoder_.flush());
    if (!stop_.stopped()) tail.text += stop_.flush();
    if (!tail.text.empty()) listener->on_tokens({}, std::move(tail.text));
  }
  report.total_seconds = now - submitted_;
  listener->on_finish(reason, report);
}

}  // namespace toccata::engine
