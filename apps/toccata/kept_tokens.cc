#include "kept_tokens.h"

#include <algorithm>

#include "base/utf8.h"
#include "feed.h"

namespace toccata::cli {
namespace {

struct Chosen {
  std::vector<int> layers, heads;
};

Result<Chosen> choose(const model::ModelConfig& c, int64_t layer, int64_t kv_head) {
  const auto refuse = [](const char* what, int64_t value, int count) {
    return fail(ErrorCode::kInvalidArgument, std::string("there is no ") + what + " " + std::to_string(value) +
                                                 ": the model has " + std::to_string(count) + ", from 0");
  };
  if (layer >= c.layers) return refuse("layer", layer, c.layers);
  if (kv_head >= c.kv_heads) return refuse("KV head", kv_head, c.kv_heads);
  Chosen chosen;
  for (int l = 0; l < c.layers; ++l) {
    if (c.window[static_cast<size_t>(l)] > 0) continue;  // keeps its window whatever the policy
    if (layer < 0 || l == layer) chosen.layers.push_back(l);
  }
  for (int h = 0; h < c.kv_heads; ++h) {
    if (kv_head < 0 || h == kv_head) chosen.heads.push_back(h);
  }
  if (!chosen.layers.empty()) return chosen;
  return fail(ErrorCode::kInvalidArgument,
              layer >= 0 ? "layer " + std::to_string(layer) + " has a sliding window, which no policy changes"
                         : "all layers have a sliding window, which no policy changes");
}

}  // namespace

Result<KeptTokens> kept_tokens(const LoadedModel& model, const KvPolicy& rule, const std::vector<int32_t>& ids,
                               int64_t chunk, int64_t layer, int64_t kv_head) {
  const model::ModelConfig& config = model.runner->config();
  const Result<Chosen> chosen = choose(config, layer, kv_head);
  if (!chosen) return tl::unexpected(chosen.error());
  const Result<kv::CachePlan> plan = kv::make_plan(rule, model::kv_shape(config));
  if (!plan) return tl::unexpected(plan.error());
  if (Status s = model::check_plan(config, model.runner->options(), *plan); !s) return tl::unexpected(s.error());
  Session session(*model.runner, *model.pool, *plan);
  const Result<bool> whole = feed(session, ids, chunk);
  if (!whole) return tl::unexpected(whole.error());
  KeptTokens kept;
  kept.policy = rule.name;
  kept.budget = plan->budget;
  kept.kept.resize(ids.size());
  if (!*whole) return kept;  // interrupted
  const auto count = [&](int l, int h) {
    ++kept.heads;
    for (const int32_t p : kv::held_positions(*plan, session.ranked(), l, h, session.length())) {
      ++kept.kept[static_cast<size_t>(p)];
    }
  };
  if (!plan->ranking) {
    count(chosen->layers.front(), chosen->heads.front());
    return kept;
  }
  for (const int l : chosen->layers) {
    for (const int h : chosen->heads) count(l, h);
  }
  return kept;
}

std::string marked_text(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, const KeptTokens& kept,
                        bool colours) {
  const std::string_view on = colours ? "\x1b[0;1;30;43m" : "[", off = colours ? "\x1b[0;2m" : "]";
  std::string text(colours ? off : "");
  bool marking = false;
  for (size_t i = 0; i < ids.size(); ++i) {
    // A character of several tokens goes with its first one.
    if (kept.marked(i) != marking && utf8::incomplete_tail(text) == 0) {
      marking = !marking;
      text += marking ? on : off;
    }
    text += tokenizer.token_bytes(ids[i]);
  }
  if (marking) text += off;
  if (colours) text += "\x1b[0m";
  return text;
}

}  // namespace toccata::cli
