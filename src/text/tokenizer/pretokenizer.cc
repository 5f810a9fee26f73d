#include "text/tokenizer/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <string>
#include <utility>

#include "base/check.h"
#include "text/tokenizer/scanners.h"
#include "text/tokenizer/utf8_runs.h"

namespace toccata {

namespace {

// PCRE2's \s counts U+180E, which Unicode took out of White_Space in version 6.3, and Hugging Face's engine does not.
std::string with_unicode_space(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '\\' || i + 1 == pattern.size()) {
      out.push_back(pattern[i]);
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 's') {
      out += "\\p{White_Space}";
    } else if (escaped == 'S') {
      out += "\\P{White_Space}";
    } else {
      out += {'\\', escaped};
    }
  }
  return out;
}

struct FreeMatchData {
  void operator()(pcre2_match_data* m) const { pcre2_match_data_free(m); }
};
using MatchData = std::unique_ptr<pcre2_match_data, FreeMatchData>;

}  // namespace

class PreTokenizer::Regex {
 public:
  explicit Regex(const SplitStage& stage) : on_bytes_(stage.on_bytes) {
    const std::string pattern = on_bytes_ ? std::string(stage.pattern) : with_unicode_space(stage.pattern);
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              on_bytes_ ? 0 : PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr));
    TOCCATA_CHECK(code_ != nullptr);  // the patterns are ours
    jit_ = pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE) == 0;
  }

  // Splits text[begin, end) and appends the ends of the pieces.
  void split(std::string_view text, size_t begin, size_t end, pcre2_match_data* match,
             std::vector<size_t>& ends) const {
    const std::string_view piece = text.substr(begin, end - begin);
    size_t done = 0, pos = 0;  // pieces are emitted up to `done`, the search goes on at `pos`
    while (pos < piece.size() && find(piece, pos, match)) {
      const PCRE2_SIZE* found = pcre2_get_ovector_pointer(match);
      if (found[0] > done) ends.push_back(begin + found[0]);
      if (found[1] > found[0]) ends.push_back(begin + found[1]);
      done = found[1];
      const size_t step = on_bytes_ || done >= piece.size() ? 1 : decode_utf8(piece, done).length;
      pos = found[1] > found[0] ? done : done + step;
    }
    if (done < piece.size()) ends.push_back(end);
  }

 private:
  struct FreeCode {
    void operator()(pcre2_code* c) const { pcre2_code_free(c); }
  };

  // A match error (a limit of the engine) counts as "no further match": the rest stays one piece.
  bool find(std::string_view piece, size_t pos, pcre2_match_data* match) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(piece.data());
    // Only pcre2_jit_match skips the check of the whole subject that pcre2_match makes at each call.
    return jit_ ? pcre2_jit_match(code_.get(), subject, piece.size(), pos, 0, match, nullptr) > 0
                : pcre2_match(code_.get(), subject, piece.size(), pos, PCRE2_NO_UTF_CHECK, match, nullptr) > 0;
  }

  bool on_bytes_;
  bool jit_ = false;
  std::unique_ptr<pcre2_code, FreeCode> code_;
};

PreTokenizer::PreTokenizer(const PreTokenizerSpec& spec, Engine engine) : spec_(&spec), engine_(engine) {
  if (engine_ == Engine::kFastest && spec.scanner != Scanner::kNone) return;
  for (const SplitStage& stage : spec.stages) regexes_.emplace_back(stage);
}

PreTokenizer::~PreTokenizer() = default;
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;

void PreTokenizer::split(std::string_view text, std::vector<size_t>& ends) const {
  if (text.empty()) return;
  if (engine_ == Engine::kFastest) {
    switch (spec_->scanner) {
      case Scanner::kGpt2:
        return scan_gpt2(text, ends);
      case Scanner::kDigitsGpt2:
        return scan_digits_gpt2(text, ends);
      case Scanner::kCased:
        return scan_cased(text, spec_->rules, ends);
      case Scanner::kNone:
        break;
    }
  }
  const MatchData match(pcre2_match_data_create(1, nullptr));
  std::vector<size_t> before = {text.size()}, after;
  if (!match) return ends.push_back(text.size());
  for (const Regex& regex : regexes_) {
    after.clear();
    size_t begin = 0;
    for (size_t end : before) {
      regex.split(text, begin, end, match.get(), after);
      begin = end;
    }
    std::swap(before, after);
  }
  ends.insert(ends.end(), before.begin(), before.end());
}

}  // namespace toccata
