// Drafters that look for the present end of the text in what was said before.
//
// ngram: the latest of the longest matches, and what followed it; also known as prompt lookup (A. Saxena, 2023).
// suffix: what followed all matches, by their counts (after SuffixDecoding, G. Oliaro et al., 2024): each match votes
// for its next token with a weight that halves with each token by which it is shorter than the longest one; the
// winner is proposed, those that voted otherwise drop out, and so on while the product of the winners' shares, as
// Laplace would estimate them, is above a bound. So a draft is long where the past is of one mind.
#pragma once

#include <memory>
#include <unordered_map>

#include "spec/drafter.h"
#include "spec/text_index.h"

namespace toccata::spec {

std::unique_ptr<Drafter> make_ngram();
std::unique_ptr<Drafter> make_suffix(bool shared);

// The indexes of the requests' own texts, brought up to date when they are asked for.
class OwnTexts {
 public:
  static constexpr int64_t kMostOwnTokens = int64_t{1} << 20;
  const TextIndex& of(const Job& job);
  void erase(uint64_t id) { texts_.erase(id); }

 private:
  std::unordered_map<uint64_t, TextIndex> texts_;
};

// What stands at `position` of the text that the draft continues: beyond the text's end, the draft. So a period that
// is shorter than the draft goes on.
int32_t continued(const TextIndex& index, int64_t position, const Draft& draft);

// The grade of a token that follows `length` matching tokens, at least TextIndex::kShortest.
int length_grade(int64_t length);

}  // namespace toccata::spec
