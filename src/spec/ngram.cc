#include <algorithm>
#include <bit>
#include <unordered_map>

#include "spec/text_drafters.h"
#include "spec/text_index.h"

namespace toccata::spec {
namespace {

constexpr size_t kCandidates = 64;

class Ngram final : public Drafter {
 public:
  void propose(std::span<Job> jobs) override {
    for (Job& job : jobs) propose(job);
  }
  void finish(uint64_t id, std::span<const int32_t>, int64_t, std::string_view) override { own_.erase(id); }

 private:
  void propose(Job& job) {
    job.draft->clear();
    const TextIndex& index = own_.of(job);
    index.find(job.text, kCandidates, found_);
    if (found_.empty()) return;
    const auto longer = [](const TextIndex::Match& a, const TextIndex::Match& b) { return a.length < b.length; };
    const TextIndex::Match best = *std::max_element(found_.begin(), found_.end(), longer);  // of equals the latest
    for (int64_t i = 0; i < job.most; ++i) {
      job.draft->add(continued(index, best.next + i, *job.draft), length_grade(best.length + i));
    }
  }

  OwnTexts own_;
  std::vector<TextIndex::Match> found_;
};

}  // namespace

int length_grade(int64_t length) {
  // 2, 3, 4, 5 to 7, 8 to 15, 16 to 31, 32 to 63, 64 and more.
  return length < 5 ? static_cast<int>(length) - 2
                    : std::min(kNoGrade - 1, static_cast<int>(std::bit_width(static_cast<uint64_t>(length))));
}

int32_t continued(const TextIndex& index, int64_t position, const Draft& draft) {
  return position < index.size() ? index.at(position) : draft.tokens[static_cast<size_t>(position - index.size())];
}

const TextIndex& OwnTexts::of(const Job& job) {
  auto found = texts_.find(job.id);
  if (found == texts_.end()) found = texts_.emplace(job.id, TextIndex(kMostOwnTokens)).first;
  TextIndex& index = found->second;
  for (size_t i = static_cast<size_t>(index.size()); i < job.text.size(); ++i) index.append(job.text[i]);
  return index;
}

std::unique_ptr<Drafter> make_ngram() { return std::make_unique<Ngram>(); }

Drafters text_drafters(bool shared) { return {make_ngram(), make_suffix(shared), nullptr}; }

}  // namespace toccata::spec
