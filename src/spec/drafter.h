// Who proposes the tokens that the next step verifies. A drafter may propose anything: a wrong token costs time, never
// correctness.
//
// It is called between two steps for all requests that want a draft at once, so that one that computes (a smaller
// model, heads on the model's own activations) can do it as one batch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "spec/rejection.h"
#include "toccata/speculation.h"

namespace toccata {
class Sampler;
}

namespace toccata::spec {

// How sure a drafter is of a token, in classes of its own making: 0 the least. What a class is worth is measured.
inline constexpr int kGrades = 9;
inline constexpr int kNoGrade = kGrades - 1;  // the drafter does not say

struct Draft {
  std::vector<int32_t> tokens;  // a chain: each follows the one before
  std::vector<uint8_t> grades;  // one per token, below kGrades
  // One per token: what it was drawn from. Empty: each was the only one that this drafter could have proposed.
  std::vector<Distribution> drawn_from;
  void clear() {
    tokens.clear();
    grades.clear();
    drawn_from.clear();
  }
  void add(int32_t token, int grade) {
    tokens.push_back(token);
    grades.push_back(static_cast<uint8_t>(grade));
  }
};

struct Job;

// Asked by a drafter whose tokens take time.
class Gate {
 public:
  virtual ~Gate() = default;
  // Whether the job's draft, which has got a token, is to get another one, together with `requests` drafts in all.
  virtual bool another(const Job& job, int64_t requests) = 0;
};

// One request that wants a draft.
struct Job {
  uint64_t id = 0;                   // of the request; never used for another one
  std::span<const int32_t> text;     // prompt and answer so far; between two calls it only grows at its end
  std::string_view salt;             // nothing may pass between requests of different salts
  int64_t most = 0;                  // tokens wanted, at least 1
  Draft* draft = nullptr;            // out: cleared, then at most `most` tokens; none if there is nothing to propose
  const Sampler* sampler = nullptr;  // that draws the request's tokens: who knows probabilities draws alike
  // For verification by rejection: whoever draws tells the distributions, and grades that know what was drawn are
  // left out, because whether a position is drafted must not depend on its own random numbers (spec/rejection.h).
  bool rejection = false;
  // For a drafter whose tokens take time.
  int64_t most_read = 0;  // tokens of the text that it may read for this draft; beyond, it reads on the next time
  Gate* gate = nullptr;   // null: as many as are wanted
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  virtual void propose(std::span<Job> jobs) = 0;
  // The request has ended, however it did, with this text of which `prompt` tokens were its prompt. Its state is
  // dropped. Called for every request, also for those that never wanted a draft.
  virtual void finish(uint64_t id, std::span<const int32_t> text, int64_t prompt, std::string_view salt) = 0;
};

// A drafter that computes, so that it is asked for as many tokens as pay (spec/pacing.h).
class PacedDrafter : public Drafter {
 public:
  // Tokens of the job's text that it has not read yet, at least 1.
  virtual int64_t unread(const Job& job) = 0;
  // Predicted seconds, 0 if unknown: to read so many, and for one more token of `requests` drafts at once.
  virtual double reading_seconds(int64_t tokens) const = 0;
  virtual double token_seconds(int64_t requests) const = 0;
};

// Null where the engine does not offer one.
struct Drafters {
  std::unique_ptr<Drafter> ngram, suffix;
  std::unique_ptr<PacedDrafter> model;

  bool any() const { return ngram != nullptr || suffix != nullptr || model != nullptr; }
};

// The drafters by number, as what is known of them is kept. Those before kModelSource cost nothing.
inline constexpr size_t kSources = 3, kModelSource = 2;
inline constexpr SpecMethod kMethods[kSources] = {SpecMethod::kNgram, SpecMethod::kSuffix, SpecMethod::kModel};
inline Drafter* source(const Drafters& drafters, size_t number) {
  return number == 0 ? drafters.ngram.get() : number == 1 ? drafters.suffix.get() : drafters.model.get();
}

// shared: the suffix drafter also looks at earlier answers of the same salt, in bounded memory.
Drafters text_drafters(bool shared);

}  // namespace toccata::spec
