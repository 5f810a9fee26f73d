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

#include "toccata/speculation.h"

namespace toccata::spec {

// How sure a drafter is of a token, in classes of its own making: 0 the least. What a class is worth is measured.
inline constexpr int kGrades = 8;

struct Draft {
  std::vector<int32_t> tokens;  // a chain: each follows the one before
  std::vector<uint8_t> grades;  // one per token, below kGrades
  void clear() {
    tokens.clear();
    grades.clear();
  }
  void add(int32_t token, int grade) {
    tokens.push_back(token);
    grades.push_back(static_cast<uint8_t>(grade));
  }
};

// One request that wants a draft.
struct Job {
  uint64_t id = 0;                // of the request; never used for another one
  std::span<const int32_t> text;  // prompt and answer so far; between two calls it only grows at its end
  std::string_view salt;          // nothing may pass between requests of different salts
  int64_t most = 0;               // tokens wanted, at least 1
  Draft* draft = nullptr;         // out: cleared, then at most `most` tokens; none if there is nothing to propose
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  virtual void propose(std::span<Job> jobs) = 0;
  // The request has ended, however it did, with this text of which `prompt` tokens were its prompt. Its state is
  // dropped. Called for every request, also for those that never wanted a draft.
  virtual void finish(uint64_t id, std::span<const int32_t> text, int64_t prompt, std::string_view salt) = 0;
};

// Null where the engine does not offer one.
struct Drafters {
  std::unique_ptr<Drafter> ngram, suffix;

  bool any() const { return ngram != nullptr || suffix != nullptr; }
};

// The drafters by number, as what is known of them is kept.
inline constexpr size_t kSources = 2;
inline constexpr SpecMethod kMethods[kSources] = {SpecMethod::kNgram, SpecMethod::kSuffix};
inline Drafter* source(const Drafters& drafters, size_t number) {
  return number == 0 ? drafters.ngram.get() : drafters.suffix.get();
}

// shared: the suffix drafter also looks at earlier answers of the same salt, in bounded memory.
Drafters text_drafters(bool shared);

}  // namespace toccata::spec
