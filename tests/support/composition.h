// What composes with what: the options that promise 4 speaks of, and for each combination what is promised. The test
// runs every combination and holds it against this; docs/COMPOSITION.md is this, printed.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "attention/attention.h"
#include "toccata/kv_policy.h"
#include "toccata/speculation.h"

namespace toccata::test {

// One of the options; `flag` is how a user chooses it.
struct Choice {
  std::string_view name, flag;
};

inline constexpr std::array<Choice, 2> kAttentions = {{{"flash", "--attention flash"}, {"naive", "--attention naive"}}};

struct CacheChoice {
  Choice choice;
  DType k_type, v_type;
  bool skip = false;  // the second layer keeps f16
};
inline constexpr std::array<CacheChoice, 8> kCaches = {{
    {{"f32", "--kv-cache-dtype f32"}, DType::kF32, DType::kF32},
    {{"f16", "--kv-cache-dtype f16"}, DType::kF16, DType::kF16},
    {{"bf16", "--kv-cache-dtype bf16"}, DType::kBF16, DType::kBF16},
    {{"q8_0", "--kv-cache-dtype q8_0"}, DType::kQ8_0, DType::kQ8_0},
    {{"q4_0", "--kv-cache-dtype q4_0"}, DType::kQ4_0, DType::kQ4_0},
    {{"K q8_0, V q4_0", "-ctk q8_0 -ctv q4_0"}, DType::kQ8_0, DType::kQ4_0},
    {{"K f16, V q8_0", "-ctk f16 -ctv q8_0"}, DType::kF16, DType::kQ8_0},
    {{"q4_0, a layer f16", "--kv-cache-dtype q4_0 --kv-skip-layers 1"}, DType::kQ4_0, DType::kQ4_0, true},
}};

inline constexpr std::array<Choice, 4> kPolicies = {{{"full", "--kv-policy full"},
                                                     {"streaming", "--kv-policy streaming"},
                                                     {"h2o", "--kv-policy h2o"},
                                                     {"snapkv", "--kv-policy snapkv"}}};
inline constexpr std::array<Choice, 3> kChunks = {
    {{"whole", "--no-chunked-prefill"}, {"of 7", "--chunk-size 7"}, {"auto", "--chunk-size 0"}}};
inline constexpr std::array<Choice, 2> kPrefixes = {{{"off", "--no-prefix-caching"}, {"on", ""}}};
inline constexpr std::array<Choice, 4> kSpeculations = {{{"off", "--spec-method off"},
                                                         {"ngram", "--spec-method ngram"},
                                                         {"suffix", "--spec-method suffix"},
                                                         {"model", "--spec-method model"}}};
inline constexpr std::array<Choice, 2> kPools = {{{"roomy", ""}, {"preempting", ""}}};

// A combination, as indices into the arrays above.
struct Combination {
  size_t attention = 0, cache = 0, policy = 0, chunk = 0, prefix = 0, speculation = 0, pool = 0;
};

// The notes of docs/COMPOSITION.md.
inline constexpr std::string_view kNaiveRefusal =
    "naive attention keeps every token: use --attention flash with an eviction policy";
inline constexpr std::string_view kNoDrafts =
    "nothing is drafted: what a rejected token has added to the attention of others could not be taken back";
inline constexpr std::string_view kNoSharing =
    "nothing is shared: tokens move, and the attention that a cached prefix got is not known";

// What a combination does. Where it is not refused, answers are those of the plain run, bit for bit.
struct Promise {
  std::string_view refusal;  // the sentence; "": it works
  bool drafts = false, shares = false, evicts = false, preempts = false;
};

inline bool by_rank(const Combination& c) {
  return kPolicies[c.policy].name == "h2o" || kPolicies[c.policy].name == "snapkv";
}

inline Promise promise(const Combination& c) {
  Promise p;
  p.evicts = c.policy > 0;
  if (c.attention == 1 && p.evicts) {
    p.refusal = kNaiveRefusal;
    return p;
  }
  p.drafts = c.speculation > 0 && !by_rank(c);
  p.shares = c.prefix == 1 && !by_rank(c);
  p.preempts = c.pool == 1;
  return p;
}

template <class Use>
void for_each_combination(const Use& use) {
  Combination c;
  for (c.attention = 0; c.attention < kAttentions.size(); ++c.attention) {
    for (c.cache = 0; c.cache < kCaches.size(); ++c.cache) {
      for (c.policy = 0; c.policy < kPolicies.size(); ++c.policy) {
        for (c.chunk = 0; c.chunk < kChunks.size(); ++c.chunk) {
          for (c.prefix = 0; c.prefix < kPrefixes.size(); ++c.prefix) {
            for (c.speculation = 0; c.speculation < kSpeculations.size(); ++c.speculation) {
              for (c.pool = 0; c.pool < kPools.size(); ++c.pool) use(c);
            }
          }
        }
      }
    }
  }
}

inline std::string name_of(const Combination& c) {
  const auto part = [](std::string_view what, const Choice& of) {
    return std::string(what) + " " + std::string(of.name);
  };
  return part("attention", kAttentions[c.attention]) + ", " + part("cache", kCaches[c.cache].choice) + ", " +
         part("policy", kPolicies[c.policy]) + ", " + part("chunks", kChunks[c.chunk]) + ", " +
         part("prefix cache", kPrefixes[c.prefix]) + ", " + part("speculation", kSpeculations[c.speculation]) + ", " +
         part("pool", kPools[c.pool]);
}

}  // namespace toccata::test
