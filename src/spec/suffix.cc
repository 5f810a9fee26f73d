#include <algorithm>
#include <list>
#include <string>
#include <unordered_map>

#include "spec/text_drafters.h"

namespace toccata::spec {
namespace {

constexpr size_t kCandidates = 64;        // of each index
constexpr double kLeastConfidence = 0.2;  // of the whole draft
constexpr size_t kSalts = 16;             // whose earlier answers are kept; the one unused longest goes first
constexpr int64_t kCorpusTokens = int64_t{1} << 16;  // of earlier answers of one salt

// Earlier answers by salt, the one used last first.
class Corpus {
 public:
  const TextIndex* of(std::string_view salt) {
    for (auto it = texts_.begin(); it != texts_.end(); ++it) {
      if (it->first != salt) continue;
      texts_.splice(texts_.begin(), texts_, it);
      return &texts_.front().second;
    }
    return nullptr;
  }
  void add(std::string_view salt, std::span<const int32_t> text) {
    if (text.empty()) return;
    if (!of(salt)) texts_.emplace_front(std::string(salt), TextIndex(kCorpusTokens));
    if (texts_.size() > kSalts) texts_.pop_back();
    TextIndex& index = texts_.front().second;
    for (const int32_t t : text) index.append(t);
    index.append(TextIndex::kBoundary);
  }

 private:
  std::list<std::pair<std::string, TextIndex>> texts_;
};

class Suffix final : public Drafter {
 public:
  explicit Suffix(bool shared) : shared_(shared) {}

  void propose(std::span<Job> jobs) override {
    for (Job& job : jobs) propose(job);
  }
  void finish(uint64_t id, std::span<const int32_t> text, int64_t prompt, std::string_view salt) override {
    own_.erase(id);
    if (shared_) corpus_.add(salt, text.subspan(static_cast<size_t>(prompt)));
  }

 private:
  struct Voter {
    const TextIndex* index;
    int64_t next, length;
    double weight;
  };

  void gather(const TextIndex& index, std::span<const int32_t> text) {
    index.find(text, kCandidates, found_);
    for (const TextIndex::Match& m : found_) voters_.push_back({&index, m.next, m.length, 1.0});
  }

  void propose(Job& job) {
    job.draft->clear();
    voters_.clear();
    const TextIndex& own = own_.of(job);
    gather(own, job.text);
    if (const TextIndex* earlier = shared_ ? corpus_.of(job.salt) : nullptr) gather(*earlier, job.text);
    int64_t longest = 0;
    for (const Voter& v : voters_) longest = std::max(longest, v.length);
    for (Voter& v : voters_)
      v.weight = 1.0 / static_cast<double>(int64_t{1} << std::min<int64_t>(40, longest - v.length));
    double confidence = 1.0;
    for (int64_t i = 0; i < job.most && !voters_.empty(); ++i) {
      const double share = vote(own, *job.draft, longest + i);
      confidence *= share;
      if (confidence < kLeastConfidence || winner_ == TextIndex::kBoundary) return;
      // Grades 0 to 3: divided opinions; above: unanimous, by the length of the match.
      job.draft->add(winner_,
                     unanimous_ ? 3 + (length_grade(longest + i) + 1) / 2 : std::min(3, static_cast<int>(share * 4)));
    }
  }

  // Finds the winner, drops those that voted otherwise and moves the others on. The result is the winner's share; the
  // vote that is taken for granted against it counts less the longer the match is.
  double vote(const TextIndex& own, const Draft& draft, int64_t length) {
    double total = 0, best = 0;
    const auto choice = [&](const Voter& v) {
      return v.index == &own            ? continued(own, v.next, draft)
             : v.next < v.index->size() ? v.index->at(v.next)
                                        : TextIndex::kBoundary;
    };
    votes_.clear();
    for (const Voter& v : voters_) {
      double& votes = votes_[choice(v)];
      votes += v.weight;
      total += v.weight;
      if (votes > best) {
        best = votes;
        winner_ = choice(v);
      }
    }
    unanimous_ = votes_.size() == 1;
    std::erase_if(voters_, [&](const Voter& v) { return choice(v) != winner_; });
    for (Voter& v : voters_) ++v.next;
    return best / (total + 2.0 / static_cast<double>(length));
  }

  const bool shared_;
  OwnTexts own_;
  Corpus corpus_;
  // Of one draft; kept to be reused.
  std::vector<TextIndex::Match> found_;
  std::vector<Voter> voters_;
  std::unordered_map<int32_t, double> votes_;
  int32_t winner_ = 0;
  bool unanimous_ = false;
};

}  // namespace

std::unique_ptr<Drafter> make_suffix(bool shared) { return std::make_unique<Suffix>(shared); }

}  // namespace toccata::spec
