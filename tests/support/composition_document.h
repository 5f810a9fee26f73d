// docs/COMPOSITION.md, made from what the test of all combinations proves.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/composition.h"

namespace toccata::test {

// An option's value by number, those of all options in one row.
struct CompositionValue {
  std::string name, flag;
  std::string_view option;
};

inline std::vector<CompositionValue> composition_values() {
  std::vector<CompositionValue> all;
  const auto add = [&all](std::string_view option, const Choice& c) {
    all.push_back({std::string(c.name), std::string(c.flag), option});
  };
  for (const Choice& c : kAttentions) add("attention", c);
  for (const CacheChoice& c : kCaches) add("cache", c.choice);
  for (const Choice& c : kPolicies) add("policy", c);
  for (const Choice& c : kChunks) add("chunks", c);
  for (const Choice& c : kPrefixes) add("prefix cache", c);
  for (const Choice& c : kSpeculations) add("drafts", c);
  for (const Choice& c : kPools) add("pool", c);
  return all;
}

// The values of a combination, as indices into composition_values().
inline std::vector<size_t> values_of(const Combination& c) {
  std::vector<size_t> all;
  size_t begin = 0;
  const auto add = [&](size_t index, size_t size) {
    all.push_back(begin + index);
    begin += size;
  };
  add(c.attention, kAttentions.size());
  add(c.cache, kCaches.size());
  add(c.policy, kPolicies.size());
  add(c.chunk, kChunks.size());
  add(c.prefix, kPrefixes.size());
  add(c.speculation, kSpeculations.size());
  add(c.pool, kPools.size());
  return all;
}

// What is promised of all combinations that have a pair of values.
struct PairOutcome {
  int work = 0, refused = 0, drafts = 0, shares = 0;
};

inline std::string mark(const PairOutcome& o, bool drafting, bool caching) {
  if (o.work == 0) return "no (1)";
  if (drafting && o.drafts == 0) return "yes (2)";
  if (caching && o.shares == 0) return "yes (3)";
  return "yes";
}

inline std::string pair_table() {
  const std::vector<CompositionValue> values = composition_values();
  std::map<std::pair<size_t, size_t>, PairOutcome> pairs;
  for_each_combination([&](const Combination& c) {
    const Promise p = promise(c);
    const std::vector<size_t> of = values_of(c);
    for (size_t a : of) {
      for (size_t b : of) {
        PairOutcome& o = pairs[{a, b}];
        (p.refusal.empty() ? o.work : o.refused) += 1;
        o.drafts += p.drafts;
        o.shares += p.shares;
      }
    }
  });
  // What is off has nothing to compose with.
  const auto shown = [&](size_t v) { return values[v].name != "off" && values[v].name != "roomy"; };
  std::string head = "| |", rule = "|---|", rows;
  for (size_t a = 0; a < values.size(); ++a) {
    if (!shown(a)) continue;
    if (values[a].option != "cache") {
      head += " " + std::string(values[a].option) + " " + values[a].name + " |";
      rule += "---|";
    }
    rows += "| " + std::string(values[a].option) + " " + values[a].name + " |";
    for (size_t b = 0; b < values.size(); ++b) {
      if (!shown(b) || values[b].option == "cache") continue;
      const auto either = [&](std::string_view option) {
        return values[a].option == option || values[b].option == option;
      };
      const bool same = values[a].option == values[b].option;
      rows += " " + (same ? std::string() : mark(pairs[{a, b}], either("drafts"), either("prefix cache"))) + " |";
    }
    rows += "\n";
  }
  return head + "\n" + rule + "\n" + rows;
}

inline std::string flag_table() {
  std::string rows = "| option | value | how to choose it |\n|---|---|---|\n";
  for (const CompositionValue& v : composition_values()) {
    const std::string how = !v.flag.empty()     ? "`" + v.flag + "`"
                            : v.name == "on"    ? "the default"
                            : v.name == "roomy" ? "a KV pool for all requests"
                                                : "a KV pool of four blocks: requests lose theirs and begin anew";
    rows += "| " + std::string(v.option) + " | " + v.name + " | " + how + " |\n";
  }
  return rows;
}

inline std::string composition_document() {
  int work = 0, refused = 0;
  for_each_combination([&](const Combination& c) { ++(promise(c).refusal.empty() ? work : refused); });
  return "# What composes with what\n\n"
         "Written by `tests/composition_test.cc`, which fails if this file differs from what it proves. To write it "
         "anew:\n\n"
         "```sh\nTOCCATA_WRITE_DOCS=1 build/release/tests/composition_test "
         "--gtest_filter='CompositionDocument.*'\n```\n\n"
         "The test runs every combination of the options below on a tiny model: five requests together, three whose "
         "answers outgrow\ntheir prompts, two long ones with a common beginning, and one of these again. Tokens and "
         "log-probabilities must be the\nsame bits as in the plain run with the same attention, cache and policy (one "
         "request at a time, whole prompts, no prefix\ncache, no drafts, a roomy pool), and the options must have been "
         "at work: drafts verified, prefixes found, tokens evicted,\nrequests preempted. Of " +
         std::to_string(work + refused) + " combinations " + std::to_string(work) + " work so and " +
         std::to_string(refused) +
         " are refused when the request is checked.\n\n## Pairs\n\n"
         "\"yes\": works in every combination that is not refused for another pair.\n\n" +
         pair_table() + "\n1. refused: `" + std::string(kNaiveRefusal) + "`\n2. works, but " + std::string(kNoDrafts) +
         "\n3. works, but " + std::string(kNoSharing) + "\n\n## The options\n\n" + flag_table();
}

}  // namespace toccata::test
